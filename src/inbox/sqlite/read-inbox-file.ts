import { CountersignError } from '../../base/errors.js'
import type { Connection } from './connection.js'
import { loadDriver, type SqliteStatement, type SqliteValue } from './driver.js'
import { inboxError } from './inbox-error.js'
import { doubtOf } from './marks.js'
import { lookFirst } from './look-first.js'
import { checkedVersion, SCHEMA_VERSION } from './schema.js'
import { checkTrustedFile } from './trusted-file.js'

export const BUSY_WAIT_MS = 4_000

/** The part of a connection that reading needs. */
export type Reader = Pick<Connection, 'get' | 'all'>

/**
 * Runs `read` on a file. The file is not created, migrated or written, because reading it must not change it. Receivers continue
 * to write meanwhile, and each statement sees what was committed before it. Resolves to undefined if nothing has been stored in
 * the file yet.
 * @throws CountersignError as SqliteInbox does
 */
export async function readInboxFile<Result>(
  file: string,
  read: (db: Reader) => Result,
): Promise<Result | undefined> {
  const driver = await loadDriver()
  let database
  try {
    checkTrustedFile(file)
    // What is in doubt is ours, and may be unreadable without its log.
    if (doubtOf(file).value === 0) lookFirst(driver, file)
    database = new driver.DatabaseSync(file, { readOnly: true })
    // Readers hardly ever wait for a writer: only while it recovers what a crash has left.
    database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}`)
    if (checkedVersion(database, file) === 0) return undefined
    const statements = new Map<string, SqliteStatement>()
    const prepared = (sql: string) => {
      const statement = statements.get(sql) ?? database!.prepare(sql)
      statements.set(sql, statement)
      return statement
    }
    return read({
      get: <Row>(sql: string, ...values: SqliteValue[]) => prepared(sql).get(...values) as Row | undefined,
      all: <Row>(sql: string, ...values: SqliteValue[]) => [...prepared(sql).all(...values)] as Row[],
    })
  } catch (error) {
    throw inboxError(error, file)
  } finally {
    database?.close()
  }
}

/**
 * Refuses a file with the schema of an older version. Opening it would bring it up to date, and the receivers of that
 * version that are using it would stop accepting callbacks.
 * @throws CountersignError ERR_INBOX_OLDER; and as SqliteInbox does
 */
export async function refuseOlderFile(file: string, needed = SCHEMA_VERSION): Promise<void> {
  const version = await readInboxFile(file, versionOf)
  if (version === undefined || version === needed) return
  const message =
    `${file} is as an older version of Countersign has it: its schema is version ${version}, and this command needs ` +
    `version ${needed}. Nothing was changed. Use the command of the version that the receiver has, or start a ` +
    'receiver of this version first, which brings the file up to date'
  throw new CountersignError('ERR_INBOX_OLDER', message)
}

/** The version of the schema of a file; 0 if nothing has been stored in it yet. @throws CountersignError as SqliteInbox does */
export async function schemaVersionOf(file: string): Promise<number> {
  return (await readInboxFile(file, versionOf)) ?? 0
}

function versionOf(db: Reader): number {
  return db.get<{ user_version: number }>('PRAGMA user_version')!.user_version
}
