import { lstatSync } from 'node:fs'
import { CountersignError } from '../../base/errors.js'
import { linkProblem, ownerProblem } from '../../base/file-owner.js'

/**
 * Checks the file by its name and does not open it: closing it would release the locks that other connections of this process
 * have on it (https://sqlite.org/howtocorrupt.html, 2.2).
 * @throws CountersignError ERR_INBOX_UNTRUSTED
 */
export function checkTrustedFile(file: string): void {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats) return
  const problem = stats.isSymbolicLink() ? linkProblem(file) : ownerProblem(stats, file)
  if (problem !== undefined) throw new CountersignError('ERR_INBOX_UNTRUSTED', problem)
}
