import type { Stats } from 'node:fs'

/** Write permission of the group and of everybody else. */
const WRITABLE_BY_OTHERS = 0o022

/**
 * Why somebody else decides what is in this file, with the cure; undefined where only this user and root do. Whoever can
 * change a secret can have forged callbacks accepted, and whoever can change an inbox decides what is handled. Windows has
 * neither owners nor modes in this sense.
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

/** What is said of a symbolic link: whoever could write its directory once has chosen the file that it leads to. */
export function linkProblem(name: string): string {
  return `${name} is a symbolic link, which is not followed: name the file that it leads to`
}
