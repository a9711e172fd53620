import { statSync } from 'node:fs'

/**
 * Whether there is no file or folder of this name. `existsSync()` returns false also for a file in a folder that this user may not
 * enter, and the message that there is no such file would be wrong.
 */
export function isMissing(path: string): boolean {
  try {
    statSync(path)
    return false
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!)
  }
}
