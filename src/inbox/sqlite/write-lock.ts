import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs'
import { CountersignError } from '../../base/errors.js'
import type { SqliteDatabase, SqliteDriver } from './driver.js'
import { putsInDoubt } from './inbox-error.js'
import { doubtOf, writingOf } from './marks.js'

/** Bits of the mark: a process writes, and the database may lack what was copied into it. */
const [WRITES, DATABASE_LACKS] = [1, 2]

/**
 * Lets one process at a time write to the files of an inbox, and marks it until the disk has what was written. The lock ends with the
 * process, the mark does not: who finds it set knows that a sync has failed, or that a process has died and nobody knows whether its
 * sync would have failed. To go on would be to build on pages that the disk has lost, or to let a log begin anew that alone has them.
 */
export class WriteLock {
  readonly #file: string
  readonly #database: SqliteDatabase
  /** A descriptor: by its path the mark takes three times as long, and each commit looks at it, sets it and clears it. */
  readonly #mark: number
  #left = 0

  /** `path`: the file of the Gate, whose lock for writing is not used otherwise. */
  constructor(driver: SqliteDriver, path: string, file: string) {
    this.#file = file
    this.#database = new driver.DatabaseSync(path)
    this.#database.exec('PRAGMA busy_timeout = 20; PRAGMA journal_mode = MEMORY')
    // Last: nothing would close it if the constructor threw after it.
    this.#mark = openSync(writingOf(file).path, 'r+')
  }

  /**
   * Runs `work`, which writes to the log. If a process has died in that, `emptyLog` is called first: it copies what was committed, and
   * lets go of the blocks of the log. It returns false if it could not. Throws what they throw; SQLITE_BUSY; CountersignError
   * ERR_INBOX_IO if the inbox is in doubt.
   */
  writeLog<Result>(emptyLog: () => boolean, work: () => Result): Result {
    return this.#hold((found) => {
      if (found === WRITES) this.#writeDatabase(() => emptyLog() || this.#putInDoubt())
      const left = found & DATABASE_LACKS
      return this.#write(WRITES | left, left, work)
    })
  }

  /** Runs `work`, which changes the database. It returns whether the disk has all of it. Throws as `writeLog`. */
  writeDatabase(work: () => boolean): void {
    this.#hold((found) => {
      refuseWrites(found)
      this.#writeDatabase(work)
    })
  }

  /** Runs `work`, which opens the database and syncs what it changes there. Throws as `writeLog`. */
  open<Result>(work: () => Result): Result {
    return this.#hold((found) => {
      refuseWrites(found)
      return this.#write(WRITES | DATABASE_LACKS, found, work)
    })
  }

  /** Whether a process writes, or has died in that. */
  get isMarked(): boolean {
    return (fstatSync(this.#mark).size & WRITES) > 0
  }

  /** Whether the disk may lack what was copied into the database. */
  get databaseLacks(): boolean {
    return (fstatSync(this.#mark).size & DATABASE_LACKS) > 0
  }

  close(): void {
    this.#database.close()
    closeSync(this.#mark)
  }

  #hold<Result>(work: (found: number) => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      refuseDoubt(this.#file)
      const found = fstatSync(this.#mark).size
      if (found === (WRITES | DATABASE_LACKS)) this.#putInDoubt()
      return work(found)
    } finally {
      this.#database.exec('ROLLBACK')
    }
  }

  #writeDatabase(work: () => boolean): void {
    this.#write(WRITES | DATABASE_LACKS, DATABASE_LACKS, () => {
      if (work()) this.#left = 0
    })
  }

  /** What the mark says during `work`, and after it, unless `work` changes that. */
  #write<Result>(during: number, left: number, work: () => Result): Result {
    this.#left = left
    ftruncateSync(this.#mark, during)
    let isInDoubt = false
    try {
      return work()
    } catch (error) {
      isInDoubt = putsInDoubt(error)
      throw error
    } finally {
      if (!isInDoubt) ftruncateSync(this.#mark, this.#left)
    }
  }

  #putInDoubt(): never {
    doubtOf(this.#file).set(1)
    throw inDoubt(this.#file, 'a process has died while it wrote')
  }
}

/** @throws CountersignError ERR_INBOX_IO */
export function refuseDoubt(file: string): void {
  if (doubtOf(file).value > 0) throw inDoubt(file, 'a write or a sync of the disk failed')
}

export function databaseLacks(file: string): boolean {
  return (writingOf(file).value & DATABASE_LACKS) > 0
}

/** Throws as SQLite does. Who has the log open calls `writeLog` within a second. */
function refuseWrites(found: number): void {
  if (found !== WRITES) return
  const message =
    'a process has died while it wrote, and another one that has the inbox open looks at its log'
  throw Object.assign(new Error(message), { errcode: 5 })
}

function inDoubt(file: string, why: string): CountersignError {
  const message =
    `${file}: ${why}. Nothing is accepted until its files were copied to other blocks of the disk, which is tried again and ` +
    'again: it needs room for them, and that no other process has the inbox open'
  return new CountersignError('ERR_INBOX_IO', message)
}
