import { CountersignError } from '../../base/errors.js'
import { property, textProperty } from '../../base/foreign-value.js'

type FaultCode =
  /** A lock, a statement or a connection was waited for longer than `busyTimeoutMs`. */
  | 'ERR_INBOX_BUSY'
  | 'ERR_INBOX_FULL'
  | 'ERR_INBOX_READ_ONLY'
  | 'ERR_INBOX_CORRUPT'
  /** The server cannot be reached, or the connection to it was lost. */
  | 'ERR_INBOX_UNREACHABLE'
  /** The role or the schema lacks something. */
  | 'ERR_INBOX_FORBIDDEN'

/** Says what is wrong with the database and how to cure it, if `error` comes from it; other errors are returned as they are. */
export function inboxError(error: unknown, schema: string): unknown {
  const code = faultOf(error)
  if (code === undefined || error instanceof CountersignError) return error
  // The server names the setting to raise in the hint, such as max_locks_per_transaction.
  const detail = [textProperty(error, 'message'), textProperty(error, 'hint')].filter(Boolean).join('. ')
  const cure = isLoginRefused(error) ? LOGIN_REFUSED : CURES[code]
  return new CountersignError(code, `the inbox in schema "${schema}" ${cure} (${detail})`, { cause: error })
}

/** Whether the fault lies with the database or the connection, and so with every operation. */
export function isFault(error: unknown): boolean {
  return faultOf(error) !== undefined || /^ERR_(?:INBOX_|CLOSED$)/.test(textProperty(error, 'code') ?? '')
}

/**
 * Whether the server has undone a transaction because of what others did at the same time, and it will succeed when it is run
 * again: deadlock_detected, serialization_failure, unique_violation, or a conflict that this package found.
 */
export function isConflict(error: unknown): boolean {
  const code = textProperty(error, 'code')
  return (
    code === '40P01' || code === '40001' || code === '23505' || property(error, 'isInboxConflict') === true
  )
}

/** Whether the connection leads to a server, or has a session, that cannot write. */
export function isReadOnly(error: unknown): boolean {
  return faultOf(error) === 'ERR_INBOX_READ_ONLY'
}

/** Another transaction changed what this one had read. */
export class InboxConflict extends Error {
  readonly isInboxConflict = true
}

/** A connection or an answer that did not come in time. */
export function busyError(schema: string, what: string): CountersignError {
  return new CountersignError(
    'ERR_INBOX_BUSY',
    `the inbox in schema "${schema}" ${CURES.ERR_INBOX_BUSY} (${what})`,
  )
}

export function unreachableError(schema: string, what: string, cause?: unknown): CountersignError {
  const cure = isCertificateRefused(cause) ? CERTIFICATE_REFUSED : CURES.ERR_INBOX_UNREACHABLE
  const message = `the inbox in schema "${schema}" ${cure} (${what})`
  return new CountersignError('ERR_INBOX_UNREACHABLE', message, { cause })
}

export function closedError(schema: string): CountersignError {
  return new CountersignError('ERR_CLOSED', `the inbox in schema "${schema}" is closed`)
}

const CURES: Record<FaultCode, string> = {
  ERR_INBOX_BUSY:
    'waited too long for a connection, a lock or an answer. See pg_stat_activity for long transactions and locks, and ' +
    'that the pool is large enough; a running process needs no restart',
  ERR_INBOX_FULL:
    'cannot grow: the server has no disk space or memory left. Once there is some, callbacks are accepted again; a ' +
    'running process needs no restart',
  ERR_INBOX_READ_ONLY:
    'cannot be written: the server is a standby, or default_transaction_read_only is on. Connect to the primary server; a ' +
    'running process needs no restart once the address leads there',
  ERR_INBOX_CORRUPT: 'is damaged, as the server reports. See the log of the server, and restore a backup',
  ERR_INBOX_UNREACHABLE:
    'cannot be reached. See that the server runs and that host, port, password and network are right; a ' +
    'running process needs no restart',
  ERR_INBOX_FORBIDDEN:
    'cannot be used by this role. The schema is missing or too old, or a grant is missing: let the owner run what ' +
    '"countersign inbox migrate --print --role ROLE" prints, or migrationSql() and grantStatements() return; a running ' +
    'process needs no restart',
}

const LOGIN_REFUSED =
  'cannot be used, because the server refuses the login. See that user, password and database are right, and that pg_hba.conf ' +
  'allows them; a running process needs no restart'

const CERTIFICATE_REFUSED =
  'cannot be reached, because the certificate of the server is not accepted. Name the certificate of its authority as ' +
  'sslrootcert in the connection string or as ssl.ca of the pool, connect to a host that the certificate is for, and renew a ' +
  'certificate that has expired'

/** The codes of X.509 errors in https://nodejs.org/api/tls.html#x509-certificate-error-codes, and ERR_TLS_CERT_ALTNAME_INVALID. */
function isCertificateRefused(error: unknown): boolean {
  return /CERT|UNABLE_TO_VERIFY/.test(textProperty(error, 'code') ?? '')
}

/** Invalid authorization, or a database that does not exist. */
function isLoginRefused(error: unknown): boolean {
  return /^(?:28|3D)/.test(textProperty(error, 'code') ?? '')
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const FAULT_BY_STATE: Readonly<Record<string, FaultCode>> = {
  '55P03': 'ERR_INBOX_BUSY', // lock_not_available
  '57014': 'ERR_INBOX_BUSY', // query_canceled: statement_timeout
  '53300': 'ERR_INBOX_BUSY', // too_many_connections
  '40P01': 'ERR_INBOX_BUSY', // deadlock_detected, several times
  '40001': 'ERR_INBOX_BUSY', // serialization_failure, several times
  '53100': 'ERR_INBOX_FULL', // disk_full
  '53200': 'ERR_INBOX_FULL', // out_of_memory
  '25006': 'ERR_INBOX_READ_ONLY', // read_only_sql_transaction
  XX001: 'ERR_INBOX_CORRUPT', // data_corrupted
  XX002: 'ERR_INBOX_CORRUPT', // index_corrupted
  '42501': 'ERR_INBOX_FORBIDDEN', // insufficient_privilege
  '3F000': 'ERR_INBOX_FORBIDDEN', // invalid_schema_name
  '42P01': 'ERR_INBOX_FORBIDDEN', // undefined_table
  '42703': 'ERR_INBOX_FORBIDDEN', // undefined_column
  '42883': 'ERR_INBOX_FORBIDDEN', // undefined_function
  '3D000': 'ERR_INBOX_FORBIDDEN', // the database does not exist
  '25P03': 'ERR_INBOX_UNREACHABLE', // idle_in_transaction_session_timeout
  '25P04': 'ERR_INBOX_UNREACHABLE', // transaction_timeout, from version 17
}

const FAULT_BY_CLASS: Readonly<Record<string, FaultCode>> = {
  '08': 'ERR_INBOX_UNREACHABLE', // connection exception
  '28': 'ERR_INBOX_FORBIDDEN', // invalid authorization
  '57': 'ERR_INBOX_UNREACHABLE', // the server shuts down, or starts
  '58': 'ERR_INBOX_UNREACHABLE', // errors of the server's system
}

/** A standby refuses every statement of a role whose default isolation is serializable, as a feature that is not supported. */
function faultOfStandby(error: unknown): FaultCode | undefined {
  const isRefusal = textProperty(error, 'routine') === 'GetSerializableTransactionSnapshot'
  return isRefusal ? 'ERR_INBOX_READ_ONLY' : undefined
}

/** The fault of an error of the driver. Recognised by its properties, because each loaded copy of pg has classes of its own. */
function faultOf(error: unknown): FaultCode | undefined {
  const code = textProperty(error, 'code')
  if (code !== undefined && code in CURES) return code as FaultCode
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code) && textProperty(error, 'severity') !== undefined)
    return FAULT_BY_STATE[code] ?? FAULT_BY_CLASS[code.slice(0, 2)] ?? faultOfStandby(error)
  // Of node:net, node:dns and node:tls.
  if (code !== undefined && (textProperty(error, 'syscall') !== undefined || /^E[A-Z]+$/.test(code)))
    return 'ERR_INBOX_UNREACHABLE'
  return undefined
}
