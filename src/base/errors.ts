/** The codes of errors in the set-up or the use of Countersign. `OutcomeCode` has the codes for callbacks. */
export type SetupErrorCode =
  | 'ERR_OPTION_UNKNOWN'
  | 'ERR_OPTION_INVALID'
  | 'ERR_HANDLER_INVALID'
  /** A handler was registered after the start of the receiver or the worker. */
  | 'ERR_STARTED'
  /** A receiver or a worker was started after its stop. */
  | 'ERR_STOPPED'
  /** A client, an inbox or a simulator was used after its close. */
  | 'ERR_CLOSED'
  | 'ERR_CONFIG_NOT_FOUND'
  | 'ERR_CONFIG_INVALID'
  | 'ERR_LISTEN_FAILED'
  | 'ERR_WAIT_TIMEOUT'
  /** `countersign/bullmq`: the data of a job is not that of a forwarded callback. */
  | 'ERR_JOB_INVALID'

/** The codes of what an inbox throws. */
export type InboxErrorCode =
  /** Another process has held the file for too long, or the database has no free connection. */
  | 'ERR_INBOX_BUSY'
  | 'ERR_INBOX_FULL'
  | 'ERR_INBOX_READ_ONLY'
  /** The file is damaged, or not an inbox at all. */
  | 'ERR_INBOX_CORRUPT'
  /** A newer version of Countersign has written the file or the schema. */
  | 'ERR_INBOX_NEWER'
  /** The command line was given a file of an older version. */
  | 'ERR_INBOX_OLDER'
  /** The file, or its -wal or -shm, was deleted or replaced while it was open. */
  | 'ERR_INBOX_REPLACED'
  /** The file is a symbolic link, or somebody else owns it or may write it. */
  | 'ERR_INBOX_UNTRUSTED'
  | 'ERR_INBOX_IO'
  /** The database cannot be reached. */
  | 'ERR_INBOX_UNREACHABLE'
  /** The database does not let the role do it. */
  | 'ERR_INBOX_FORBIDDEN'
  /** The version or the encoding of the database, or what the driver returns. */
  | 'ERR_INBOX_UNSUPPORTED'
  | 'ERR_INBOX_DRIVER_MISSING'
  | 'ERR_CLOSED'
  /** A transactional handler tried to end its transaction, or used it after its end. */
  | 'ERR_TRANSACTION_CONTROL'
  /** A transactional handler took too long. */
  | 'ERR_HANDLER_TIMEOUT'

const KINDS = Symbol.for('countersign.error')
const isOwnInstance = Function.prototype[Symbol.hasInstance]

/** Has `instanceof` hold for errors of another loaded version of the package, which has classes of its own. */
export function recognise(type: abstract new (...given: never[]) => Error, kind: string): void {
  const inherited: readonly string[] = Reflect.get(type.prototype, KINDS) ?? []
  Object.defineProperty(type.prototype, KINDS, { value: [...inherited, kind] })
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (isOwnInstance.call(this, value)) return true
      // A class that extends this one inherits the method.
      if (this !== type || typeof value !== 'object' || value === null) return false
      const kinds: unknown = Reflect.get(value, KINDS)
      return Array.isArray(kinds) && kinds.includes(kind)
    },
  })
}

/**
 * The class of every error that Countersign throws deliberately. Recognise one by its `code`, which is stable. `instanceof` also
 * holds if another version of the package, loaded beside this one, has thrown it.
 */
export class CountersignError<Code extends string = string> extends Error {
  static {
    recognise(this, 'CountersignError')
  }

  readonly code: Code
  /** The name of the wrong option, such as `subscriptions`, if the error is about an option. */
  declare readonly option?: string
  /** Where that option was given, such as `createReceiver`, a configuration file, a flag or an environment variable. */
  declare readonly owner?: string

  /** The type `ErrorOptions` would need the library of ES2022 in the project of the user. */
  constructor(code: Code, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'CountersignError'
    this.code = code
  }
}

/** An unknown option, or an invalid value of an option. Its message begins with the owner. */
export class OptionError<
  Code extends 'ERR_OPTION_UNKNOWN' | 'ERR_OPTION_INVALID' = 'ERR_OPTION_UNKNOWN' | 'ERR_OPTION_INVALID',
> extends CountersignError<Code> {
  declare readonly option: string
  declare readonly owner: string
  readonly #messageFor: (owner: string) => string

  constructor(
    code: Code,
    owner: string,
    option: string,
    messageFor: (owner: string) => string,
    options?: { cause?: unknown },
  ) {
    super(code, messageFor(owner), options)
    this.option = option
    this.owner = owner
    this.#messageFor = messageFor
  }

  /** The same error for a program in which the option is set elsewhere, such as in a file or by a flag. */
  withOwner(owner: string): OptionError<Code> {
    return withOtherOwner(this, owner, this.#messageFor)
  }
}

/** Outside the class: esbuild renames a class that refers to itself, and Node prints the new name with the error. */
function withOtherOwner<Code extends OptionError['code']>(
  error: OptionError<Code>,
  owner: string,
  messageFor: (owner: string) => string,
): OptionError<Code> {
  return new OptionError(error.code, owner, error.option, messageFor, { cause: error })
}
