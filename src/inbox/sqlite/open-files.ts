import { statSync, unlinkSync } from 'node:fs'

/** Whether the files of an open connection are still in their places. */
export type FilesState =
  | 'current'
  /** The database file was deleted, moved away or replaced. */
  | 'moved'
  /** The -wal or the -shm file was deleted. */
  | 'lost'
  /** Another -wal or -shm file has replaced ours: another program has opened the database without our log. */
  | 'replaced'
  /** The -wal file lacks a part of the log: another program has shortened it. */
  | 'cut'

/** The three files of an open database, by device and inode, because the same name may now belong to another file. */
export class OpenFiles {
  readonly #file: string
  readonly #main: string
  readonly #wal: string
  readonly #shm: string
  /** The size of the -wal file when it was checked last, in bytes. */
  logBytes = 0

  constructor(file: string) {
    this.#file = file
    this.#main = look(file).identity
    this.#wal = look(`${file}-wal`).identity
    this.#shm = look(`${file}-shm`).identity
  }

  state(): FilesState {
    const wal = look(`${this.#file}-wal`)
    const shm = look(`${this.#file}-shm`)
    this.logBytes = wal.bytes
    if (look(this.#file).identity !== this.#main) return 'moved'
    if (wal.identity === this.#wal && shm.identity === this.#shm) return 'current'
    const isReplaced = (now: string, then: string) => now !== NONE && now !== then
    return isReplaced(wal.identity, this.#wal) || isReplaced(shm.identity, this.#shm) ? 'replaced' : 'lost'
  }

  /**
   * Deletes the log that a database which was moved away has left behind. A new database under the same name must not be
   * opened with it (https://sqlite.org/howtocorrupt.html, 1.4).
   */
  deleteLeftLog(): void {
    for (const [path, identity] of [
      [`${this.#file}-wal`, this.#wal],
      [`${this.#file}-shm`, this.#shm],
    ] as const) {
      if (identity !== NONE && look(path).identity === identity) unlinkSync(path)
    }
  }
}

/** Whether both files that every open connection has beside the database are there. */
export function hasLogFiles(file: string): boolean {
  return look(`${file}-wal`).identity !== NONE && look(`${file}-shm`).identity !== NONE
}

export function bytesIn(path: string): number {
  return look(path).bytes
}

const NONE = ''

function look(path: string): { identity: string; bytes: number } {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found
    ? { identity: `${found.dev}:${found.ino}`, bytes: Number(found.size) }
    : { identity: NONE, bytes: 0 }
}
