import { closeSync, existsSync, fstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadDriver } from '../../dist/inbox/sqlite/driver.js'
import { unpackUuid } from '../../dist/inbox/sqlite/packed-uuid.js'

/** On a RAM disk if there is one: the syncs of a disk would take most of the time. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const DRIVER = await loadDriver()

/** The file of an inbox on the machine of this world, with SQLite as it is. */
export class SimulatedFile {
  path
  /** By the names of `ERROR_CODES`, how probable each fault is now: set by the plan. */
  faults = {}
  #random
  #folder
  #committed
  /** By process, what it has open. */
  #open = new Map()

  /** `committed` is called with the process and the entries after each commit. */
  constructor(random, committed) {
    this.#random = random
    this.#folder = mkdtempSync(join(FOLDER, 'countersign-simulation-'))
    this.path = join(this.#folder, 'callbacks.db')
    this.#committed = committed
  }

  /** SQLite as a process uses it. */
  driverOf(process) {
    const open = new Set()
    this.#open.set(process, open)
    process.atDeath = () => this.#release(process)
    const committed = (database) => this.#committed(process, entriesIn(database))
    const fails = (fault) => {
      if (this.#random.happens(this.faults[fault] ?? 0)) throw new SqliteError(fault)
    }
    class DatabaseSync {
      #database
      #look
      #changes = 0

      constructor(path, { readOnly = false } = {}) {
        this.readOnly = readOnly
        this.#database = new DRIVER.DatabaseSync(path, { readOnly })
        open.add(this)
      }

      exec(sql) {
        // Whoever holds the lock cannot let go of it while this process waits, as all are in one thread.
        this.#database.exec(sql.replace(/busy_timeout = \d+/, 'busy_timeout = 0'))
      }

      prepare(sql) {
        const statement = this.#database.prepare(sql)
        if (sql === 'BEGIN IMMEDIATE') return { run: () => fails('locked') || statement.run() }
        if (sql !== 'COMMIT') return statement
        this.#look ??= statementsOf(this.#database)
        return {
          run: () => {
            fails('full')
            fails('unwritten')
            const result = statement.run()
            const { changes } = this.#look.changes.get()
            if (changes !== this.#changes) committed(this.#look)
            this.#changes = changes
            fails('unsynced')
            return result
          },
        }
      }

      close() {
        open.delete(this)
        this.#database.close()
      }
    }
    return { name: DRIVER.name, DatabaseSync }
  }

  /** What is in the file now, seen by somebody who has not had it open. */
  entries() {
    const database = new DRIVER.DatabaseSync(this.path, { readOnly: true })
    try {
      return entriesIn(statementsOf(database))
    } finally {
      database.close()
    }
  }

  delete() {
    closeLeftOpen(`${this.path}-writing`)
    rmSync(this.#folder, { recursive: true })
  }

  /** The system closes what a process has open that dies. The log stays: the last connection only reads. */
  #release(process) {
    const open = [...this.#open.get(process)].sort((one, other) => one.readOnly - other.readOnly)
    for (const database of open) database.close()
    this.#open.delete(process)
  }
}

/** What dead processes have open besides databases. The system would close it, and some systems allow 1,024 files. */
function closeLeftOpen(path) {
  if (!existsSync(path)) return
  const { dev, ino } = statSync(path)
  for (const name of readdirSync('/dev/fd')) {
    const found = openFile(Number(name))
    if (found?.dev === dev && found.ino === ino) closeSync(Number(name))
  }
}

function openFile(descriptor) {
  try {
    return fstatSync(descriptor)
  } catch {
    // It was for reading the folder itself.
    return undefined
  }
}

const WAITS = ['stored', 'retrying']

/**
 * The file is locked, or the disk is full: SQLite has rolled back. A write failed before the commit, or a sync after it: the disk is in
 * doubt (https://sqlite.org/rescode.html).
 */
const ERROR_CODES = { locked: 5, full: 13, unwritten: 778, unsynced: 1034 }

/** As `node:sqlite` throws it. */
class SqliteError extends Error {
  code = 'ERR_SQLITE_ERROR'

  constructor(fault) {
    super(`simulated: ${fault}`)
    this.errcode = ERROR_CODES[fault]
  }
}

function statementsOf(database) {
  return {
    changes: database.prepare('SELECT total_changes() AS changes'),
    entries: database.prepare(
      'SELECT id, idempotency_key, body_id, state, token, event_type, signed_at, copies, iif(ready, due_at, NULL) AS due_at, ' +
        '(SELECT count(*) FROM history WHERE entry_id = entries.id) AS decisions FROM entries ORDER BY id',
    ),
  }
}

function entriesIn({ entries }) {
  return entries.all().map((row) => ({
    id: String(row.id),
    idempotencyKey: unpackUuid(row.idempotency_key),
    bodyId: row.body_id === null ? undefined : unpackUuid(row.body_id),
    // No worker has a handler for the other types.
    state: WAITS.includes(row.state) && row.event_type !== 'transfer' ? 'unhandled' : row.state,
    dueAt: row.due_at ?? undefined,
    signedAt: row.signed_at,
    copies: row.copies,
    token: row.token,
    decisions: row.decisions,
  }))
}
