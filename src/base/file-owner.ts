import type { Stats } from 'node:fs'

/** Write permission of the group and of others. */
const WRITABLE_BY_OTHERS = 0o022

/**
 * Says which other user can write this file, with the cure; undefined if only this user and root can. A user who
 * can change a secret can have forged callbacks accepted, and a user who can change an inbox decides what is
 * handled. Windows has neither owners nor modes in this sense.
 */
export function ownerProblem({ uid, mode }: Pick<Stats, 'uid' | 'mode'>, name: string): string | undefined {
  const user = process.geteuid?.()
  if (user === undefined) return undefined
  if (uid !== user && uid !== 0) {
    return (
      `${name} belongs to user ${uid}, and this process runs as user ${user}: run it as the owner (sudo -u), or give ` +
      `the file to the user who runs it ("chown ${user} ${name}")`
    )
  }
  if ((mode & WRITABLE_BY_OTHERS) !== 0) return `${name} can be written by others: "chmod go-w ${name}" first`
  return undefined
}

/**
 * Symbolic links are refused, because any user who once had write permission for the folder may have created the
 * link.
 */
export function linkProblem(name: string): string {
  return `${name} is a symbolic link, which is not followed: name the file that it leads to`
}
