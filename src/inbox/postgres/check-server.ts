import { CountersignError } from '../../base/errors.js'
import type { Connection } from './connections.js'

const OLDEST_VERSION = 13

/**
 * Refuses a server that cannot have the tables or cannot store every text, a driver whose results would be misread, because a user
 * may have replaced its type parsers, and a driver that changes bytes.
 * @throws CountersignError ERR_INBOX_UNSUPPORTED
 */
export async function checkServer(connection: Connection, schema: string): Promise<void> {
  const { rows } = await connection.query<ServerRow>(LOOK, [1, ZERO_BYTE])
  const { version, encoding, integer, boolean, bytes } = rows[0]!
  if (Number.parseInt(version, 10) < OLDEST_VERSION)
    throw unsupported(schema, `the server is PostgreSQL ${version}. Use version ${OLDEST_VERSION} or later`)
  if (!ENCODINGS.includes(encoding))
    throw unsupported(
      schema,
      `the encoding of the database is ${encoding}, which lacks characters that callbacks may have. Use a database in UTF8`,
    )
  if (integer !== 1 || boolean !== true || !(bytes instanceof Uint8Array))
    throw unsupported(
      schema,
      `the driver returns an integer as ${typeof integer}, a boolean as ${typeof boolean} and a bytea as ${nameOf(bytes)}. ` +
        'Give the inbox a pool with the default type parsers for these types, and without "binary"',
    )
  if (bytes.length !== ZERO_BYTE.length)
    throw unsupported(
      schema,
      'the driver changes the bytes that it sends, as pg-native does. Give the inbox a pg.Pool and not a pg.native.Pool, and do not ' +
        'set NODE_PG_FORCE_NATIVE',
    )
}

interface ServerRow {
  readonly version: string
  readonly encoding: string
  readonly integer: unknown
  readonly boolean: unknown
  readonly bytes: unknown
}

/** pg-native sends a Buffer as a text, which ends at this byte. */
const ZERO_BYTE = Buffer.of(0)

// The query has values, because the driver returns results in binary form only then.
const LOOK = `
  SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
    $1::integer AS integer, true AS boolean, $2::bytea AS bytes`

/** A database in SQL_ASCII stores the bytes that it is sent, which are UTF-8. */
const ENCODINGS: readonly string[] = ['UTF8', 'SQL_ASCII']

function unsupported(schema: string, what: string): CountersignError {
  return new CountersignError(
    'ERR_INBOX_UNSUPPORTED',
    `the inbox in schema "${schema}" cannot be used: ${what}`,
  )
}

function nameOf(value: unknown): string {
  return value instanceof Uint8Array ? 'bytes' : typeof value
}
