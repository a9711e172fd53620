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

/** Runs statements, which are prepared once. `Connection` has these methods. */
export interface Statements {
  run(sql: string, ...values: SqliteValue[]): { readonly changes: number; readonly lastId: number }
  get<Row>(sql: string, ...values: SqliteValue[]): Row | undefined
  all<Row>(sql: string, ...values: SqliteValue[]): Row[]
}

export type SqliteValue = string | number | Uint8Array | null

export interface SqliteDriver {
  /** The module to import. */
  readonly name: string
  readonly DatabaseSync: new (file: string, options?: { readOnly: boolean }) => SqliteDatabase
}

/**
 * `node:sqlite` is there from Node 22.13 on. Before that an optional peer of the package takes its place.
 * @throws CountersignError ERR_INBOX_DRIVER_MISSING
 */
export async function loadDriver(): Promise<SqliteDriver> {
  // Turbopack lets an import of what Node includes fail.
  const builtIn = withoutItsWarning(() => process.getBuiltinModule(BUILT_IN) as Module | undefined)
  if (builtIn) return { name: BUILT_IN, DatabaseSync: builtIn.DatabaseSync }
  try {
    // The name is a variable, because the package may not be installed.
    const { DatabaseSync } = (await import(PACKAGE)) as Module
    return { name: PACKAGE, DatabaseSync }
  } catch (cause) {
    const message =
      `SqliteInbox found no SQLite: Node ${process.versions.node} has none of its own, and ${PACKAGE} could not be ` +
      `loaded. Install it with "npm install ${PACKAGE}", or use Node 24 or later. If countersign is in a bundle, leave it ` +
      'out of the bundle.'
    throw new CountersignError('ERR_INBOX_DRIVER_MISSING', message, { cause })
  }
}

type Module = Pick<SqliteDriver, 'DatabaseSync'>

/** Node 22 says of its SQLite that it is experimental. It passes all tests of this package. */
function withoutItsWarning<Loaded>(load: () => Loaded): Loaded {
  const { emitWarning } = process
  process.emitWarning = (...args: unknown[]) => {
    if (!String(args[0]).startsWith('SQLite is an experimental feature'))
      (emitWarning as (...all: unknown[]) => void).apply(process, args)
  }
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

export const BUILT_IN = 'node:sqlite'
const PACKAGE = '@photostructure/sqlite'
