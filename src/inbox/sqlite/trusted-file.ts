import { lstatSync, type Stats } from 'node:fs'
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
  const problem = problemOf(stats, file)
  if (problem !== undefined) throw new CountersignError('ERR_INBOX_UNTRUSTED', problem)
}

function problemOf(stats: Stats, file: string): string | undefined {
  if (stats.isSymbolicLink()) return linkProblem(file)
  // Before the owner is checked: the cure for a folder such as /tmp is not to change its permissions.
  if (!stats.isFile()) return `${file} is no file: name the file of the inbox`
  return ownerProblem(stats, file)
}
