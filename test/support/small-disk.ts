import { execFileSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './server-program.js'

/** A file system of a few megabytes, which can be filled. Only root can make one. */
export class SmallDisk {
  readonly folder = temporaryFolder()
  readonly #filler = join(this.folder, 'filler')

  constructor(megabytes: number) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0777`, 'tmpfs', this.folder], QUIET)
  }

  /** Leaves so many bytes free. */
  fill(leftBytes: number): void {
    const { bavail, bsize } = statfsSync(this.folder)
    const bytes = bavail * bsize - leftBytes
    if (bytes > 0) writeFileSync(this.#filler, Buffer.alloc(bytes), { flag: 'a' })
  }

  free(): void {
    rmSync(this.#filler, { force: true })
  }

  makeReadOnly(): void {
    execFileSync('mount', ['-o', 'remount,ro', this.folder], QUIET)
  }

  remove(): void {
    execFileSync('umount', ['--lazy', this.folder], QUIET)
  }
}

const QUIET = { stdio: 'ignore' } as const

export const canMakeDisks = canMake()

function canMake(): boolean {
  if (process.getuid?.() !== 0) return false
  try {
    new SmallDisk(1).remove()
    return true
  } catch {
    // Such as in a container without the capability.
    return false
  }
}
