import { lstatSync } from 'node:fs'
import { CountersignError } from '../../base/errors.js'
import { linkProblem, ownerProblem } from '../../base/file-owner.js'

/**
 * Looks at the name of the file and does not open it: to close it again would let go of the locks that other connections
 * of this process have on it (https://sqlite.org/howtocorrupt.html, 2.2).
 * @throws CountersignError ERR_INBOX_UNTRUSTED
 */
export function checkTrustedFile(file: string): void {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats) return
  const problem = stats.isSymbolicLink() ? linkProblem(file) : ownerProblem(stats, file)
  if (problem !== undefined) throw new CountersignError('ERR_INBOX_UNTRUSTED', problem)
}
