import { lstatSync } from 'node:fs'
import { CountersignError } from '../../base/errors.js'
import { linkProblem, ownerProblem } from '../../base/file-owner.js'

/**
 * Checks the file by its name and does not open it: closing it would release the locks that other connections of this process
 * have on it (https://sqlite.org/howtocorrupt.html, 2.2).
 * @throws CountersignError ERR_INBOX_UNTRUSTED; ERR_INBOX_IO if it is not a file
 */
export function checkTrustedFile(file: string): void {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats) return
  if (stats.isSymbolicLink()) throw new CountersignError('ERR_INBOX_UNTRUSTED', linkProblem(file))
  // Before the owner is checked: the cure for a folder such as /tmp is not to change its permissions.
  if (!stats.isFile())
    throw new CountersignError('ERR_INBOX_IO', `${file} is not a file: name the file of the inbox`)
  const problem = ownerProblem(stats, file)
  if (problem !== undefined) throw new CountersignError('ERR_INBOX_UNTRUSTED', problem)
}
