import { CountersignError } from '../../base/errors.js'

/** What is used of `DatabaseSync`, which `node:sqlite` and `@photostructure/sqlite` both have. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): {
    readonly changes: number | bigint
    readonly lastInsertRowid: number | bigint
  }
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
}

export type SqliteValue = string | number | Uint8Array | null

export interface SqliteDriver {
  /** The module to import. */
  readonly name: string
  readonly DatabaseSync: new (file: string, options?: { readOnly: boolean }) => SqliteDatabase
}

/**
 * `node:sqlite` exists from Node 22 on, and is preferred from Node 24 on. Before that the optional dependency is preferred.
 * @throws CountersignError ERR_SQLITE_MISSING
 */
export async function loadDriver(): Promise<SqliteDriver> {
  const nodeVersion = Number.parseInt(process.versions.node, 10)
  const names = nodeVersion >= 24 ? [BUILT_IN, PACKAGE] : [PACKAGE, BUILT_IN]
  const failures: unknown[] = []
  for (const name of names) {
    try {
      // The name is a variable, because the types of Node 20 lack the one module, and the other may not be installed. Turbopack
      // lets an import of a variable fail, also of what Node includes.
      const module = process.getBuiltinModule(name) ?? ((await import(name)) as object)
      const { DatabaseSync } = module as Pick<SqliteDriver, 'DatabaseSync'>
      return { name, DatabaseSync }
    } catch (error) {
      failures.push(error)
    }
  }
  const message =
    `SqliteInbox found no SQLite: Node ${process.versions.node} ` +
    `${nodeVersion >= 22 ? 'could not load its own' : 'has none of its own'}, and the optional dependency ` +
    `${PACKAGE} could not be loaded. If countersign is in a bundle, leave it out of the bundle. Otherwise install the ` +
    `package with "npm install ${PACKAGE}", or use Node 24 or later.`
  throw new CountersignError('ERR_SQLITE_MISSING', message, { cause: new AggregateError(failures) })
}

export const BUILT_IN = 'node:sqlite'
const PACKAGE = '@photostructure/sqlite'
