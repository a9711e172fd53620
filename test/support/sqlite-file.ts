import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadDriver, type SqliteDatabase } from '../../src/inbox/sqlite/driver.js'
import { type SqliteInboxOptions } from '../../src/sqlite.js'
import { SqliteInbox } from './whole-inbox.js'

const directories: string[] = []
const inboxes: SqliteInbox[] = []
afterEach(async () => {
  await Promise.all(inboxes.splice(0).map((inbox) => inbox.close()))
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

/** A directory that is there until the test is over. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-'))
  directories.push(directory)
  return directory
}

/** Where an inbox can be until the test is over. */
export function inboxFile(): string {
  return join(temporaryDirectory(), 'callbacks.db')
}

/** An inbox that is closed after the test. */
export function inboxOn(file: string, options: Partial<SqliteInboxOptions> = {}): SqliteInbox {
  const inbox = new SqliteInbox({ file, ...options })
  inboxes.push(inbox)
  return inbox
}

/** The file as another program would open it. To be closed by the test. */
export async function openAside(file: string): Promise<SqliteDatabase> {
  const { DatabaseSync } = await loadDriver()
  return new DatabaseSync(file)
}

/** How many transactions the write-ahead log holds (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
export function commitsIn(file: string): number {
  const log = readFileSync(`${file}-wal`)
  if (log.length === 0) return 0
  const salts = log.subarray(16, 24)
  const frameSize = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frameSize <= log.length; at += frameSize) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break
    if (log.readUInt32BE(at + 4) > 0) commits++
  }
  return commits
}

/** Copies the file and those beside it with these endings, as they would be found after a failure. */
export function copyOf(file: string, ...endings: string[]): string {
  const copy = join(temporaryDirectory(), 'copy.db')
  for (const ending of endings) if (existsSync(file + ending)) copyFileSync(file + ending, copy + ending)
  return copy
}

/** How many entries the database in a file has. */
export async function entriesIn(file: string): Promise<number> {
  const database = await openAside(file)
  const { count } = database.prepare('SELECT count(*) AS count FROM entries').get() as { count: number }
  database.close()
  return count
}
