import { CountersignError, type InboxErrorCode } from '../../base/errors.js'
import { property } from '../../base/foreign-value.js'

/** Says what is wrong with the file, and its cure, if `error` comes from the file; other errors are returned as they are. */
export function inboxError(error: unknown, file: string): unknown {
  const code = causeOf(error)
  if (code === undefined || error instanceof CountersignError) return error
  return new CountersignError(code, `${file} ${CURES[code]} (${(error as Error).message})`, { cause: error })
}

export function isBusy(error: unknown): boolean {
  return causeOf(error) === 'ERR_INBOX_BUSY'
}

/** Whether the fault lies with the file or the machine, and so with every operation, not with the one that met it. */
export function isFault(error: unknown): boolean {
  return causeOf(error) !== undefined || isOf(error, 'ERR_INBOX_NEWER', 'ERR_INBOX_REPLACED')
}

export function isNoDatabase(error: unknown): boolean {
  return (Object(error) as { errcode?: unknown }).errcode === 26
}

export function isFull(error: unknown): boolean {
  return causeOf(error) === 'ERR_INBOX_FULL'
}

/**
 * Whether the disk may lack what was written. Not if a write was refused, as on a full disk: it did not take place. After an error
 * that is not known here it may.
 */
export function putsInDoubt(error: unknown): boolean {
  const errcode = property(error, 'errcode')
  return typeof errcode === 'number' && !WITHOUT_DOUBT.includes(errcode & 0xff)
}

// https://sqlite.org/rescode.html. All others are IOERR and what no call of ours can cause.
const WITHOUT_DOUBT = [1, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 17, 18, 19, 20, 21, 23, 25, 26]

/** After these the file may be repaired or replaced by another, which a connection that stays open would not notice. */
export function needsReopening(error: unknown): boolean {
  const code = causeOf(error)
  return (
    code === 'ERR_INBOX_CORRUPT' ||
    code === 'ERR_INBOX_READ_ONLY' ||
    code === 'ERR_INBOX_IO' ||
    isOf(error, 'ERR_INBOX_NEWER', 'ERR_INBOX_REPLACED')
  )
}

const CURES = {
  ERR_INBOX_BUSY:
    'is locked by another process. Countersign never holds it for long: look for a shell or a backup with an open ' +
    'transaction',
  ERR_INBOX_FULL:
    'cannot grow, because its disk is full. Once there is space, callbacks are accepted again; a running process ' +
    'needs no restart',
  ERR_INBOX_READ_ONLY:
    'cannot be written. Let this process write the file and its folder, where SQLite keeps two more files; a ' +
    'running process needs no restart',
  ERR_INBOX_CORRUPT:
    'is damaged, or not a file of SQLite. Put a sound one in its place, together with the files -wal and -shm beside ' +
    'it, or move all of them away to begin anew; "sqlite3 FILE .recover" saves what can be read',
  ERR_INBOX_IO:
    'cannot be opened, read or written. See that its folder exists, that this process may use it, and that the ' +
    'disk is sound; a running process needs no restart',
} satisfies Partial<Record<InboxErrorCode, string>>

type FaultCode = keyof typeof CURES

// https://sqlite.org/rescode.html: the primary code is the low byte.
const FAULT_BY_RESULT_CODE: Readonly<Record<number, FaultCode>> = {
  3: 'ERR_INBOX_READ_ONLY', // PERM
  5: 'ERR_INBOX_BUSY', // BUSY
  6: 'ERR_INBOX_BUSY', // LOCKED
  7: 'ERR_INBOX_IO', // NOMEM
  8: 'ERR_INBOX_READ_ONLY', // READONLY
  10: 'ERR_INBOX_IO', // IOERR
  11: 'ERR_INBOX_CORRUPT', // CORRUPT
  13: 'ERR_INBOX_FULL', // FULL
  14: 'ERR_INBOX_IO', // CANTOPEN
  15: 'ERR_INBOX_BUSY', // PROTOCOL: too many processes opening the file at once
  26: 'ERR_INBOX_CORRUPT', // NOTADB
}

const FAULT_BY_SYSTEM_ERROR: Readonly<Record<string, FaultCode>> = {
  EACCES: 'ERR_INBOX_READ_ONLY',
  EPERM: 'ERR_INBOX_READ_ONLY',
  EROFS: 'ERR_INBOX_READ_ONLY',
  ENOSPC: 'ERR_INBOX_FULL',
  EDQUOT: 'ERR_INBOX_FULL',
}

function isOf(error: unknown, ...codes: readonly InboxErrorCode[]): boolean {
  return codes.some((code) => (Object(error) as NodeJS.ErrnoException).code === code)
}

// By its properties and not by instanceof, which fails for the errors of another realm, such as a test runner's.
function causeOf(error: unknown): FaultCode | undefined {
  const [code, errcode, syscall] = ['code', 'errcode', 'syscall'].map((name) => property(error, name))
  if (typeof errcode === 'number') return FAULT_BY_RESULT_CODE[errcode & 0xff]
  if (typeof code !== 'string') return undefined
  if (code in CURES) return code as FaultCode
  return syscall === undefined ? undefined : (FAULT_BY_SYSTEM_ERROR[code] ?? 'ERR_INBOX_IO')
}
