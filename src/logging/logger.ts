import { isNativeError } from 'node:util/types'
import { consoleLogger, isConsole } from './console-logger.js'
import { KnownSecrets } from './known-secrets.js'
import { loggedError } from './logged-error.js'
import { objectOption } from '../base/option-checks.js'
import { StderrLogger } from './stderr-logger.js'

/**
 * pino, console, or any object with these four methods. Each gets an object of fields and then a sentence. Countersign
 * never logs a secret, a signature, an `Authorization` header, or a body. An exception that the logger throws is ignored,
 * because a callback must not be lost when the log cannot be written.
 */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

type LogLevel = keyof Logger

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const METHODS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]

/**
 * The logger for the value of an option: standard error if it is undefined, none if it is false. The field `err` may be
 * any thrown value. It is written as an Error of limited size, without `secrets`.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function loggerOption(
  owner: string,
  logger: Logger | false | undefined,
  secrets = new KnownSecrets(),
): Logger {
  if (logger === false) return silentLogger
  const given = objectOption<Logger>(owner, 'logger', logger, new StderrLogger(), METHODS)
  // A receiver passes its logger to the store that it creates.
  if (given === silentLogger || given instanceof GuardedLogger) return given
  return new GuardedLogger(isConsole(given) ? consoleLogger(given) : given, secrets)
}

/** Whether lines of this level are written. If not, the caller need not prepare them. */
export function isWritten(logger: Logger, level: LogLevel): boolean {
  return logger instanceof GuardedLogger ? logger.writes(level) : logger !== silentLogger
}

/**
 * Wraps a logger of the application. Exceptions of the logger are ignored, because a full disk or a closed stream must
 * not keep a callback from being handled.
 */
class GuardedLogger implements Logger {
  readonly #logger: Logger
  readonly #secrets: KnownSecrets

  constructor(logger: Logger, secrets: KnownSecrets) {
    this.#logger = logger
    this.#secrets = secrets
  }

  debug(fields: object, message: string): void {
    void this.#write('debug', fields, message)
  }

  info(fields: object, message: string): void {
    void this.#write('info', fields, message)
  }

  warn(fields: object, message: string): void {
    void this.#write('warn', fields, message)
  }

  error(fields: object, message: string): void {
    void this.#write('error', fields, message)
  }

  writes(level: LogLevel): boolean {
    return !(this.#logger instanceof StderrLogger) || level === 'warn' || level === 'error'
  }

  /** For handlers. It is a child of the application's logger, with all its methods, if that logger has children. */
  child(bindings: object): Logger {
    return hasChildren(this.#logger) ? ownChild(this.#logger, bindings) : bound(this, bindings)
  }

  // An async method may reject. An unhandled rejection would end the process.
  async #write(level: LogLevel, fields: object, message: string): Promise<void> {
    try {
      const written: unknown = this.#logger[level](this.#writable(fields), message)
      await written
    } catch {
      // The error cannot be logged.
    }
  }

  /** Without undefined fields, which console and other loggers would print. */
  #writable(fields: object): object {
    const writable: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
      if (name === 'err') writable['err'] = loggedError(value, this.#secrets)
      else if (value !== undefined) writable[name] = value
    }
    return writable
  }
}

/** A logger that adds `bindings` to every line, with the logger's own `child` if it has one (pino). */
export function childLogger(logger: Logger, bindings: object): Logger {
  if (logger instanceof GuardedLogger) return logger.child(bindings)
  return hasChildren(logger) ? ownChild(logger, bindings) : bound(logger, bindings)
}

function bound(logger: Logger, bindings: object): Logger {
  return {
    debug: (fields, message) => logger.debug({ ...bindings, ...fields }, message),
    info: (fields, message) => logger.info({ ...bindings, ...fields }, message),
    warn: (fields, message) => logger.warn({ ...bindings, ...fields }, message),
    error: (fields, message) => logger.error({ ...bindings, ...fields }, message),
  }
}

type Write = (fields: unknown, ...rest: unknown[]) => void
interface Parent extends Logger {
  child(bindings: object, ...options: unknown[]): Record<string, unknown>
}

function hasChildren(logger: Logger): logger is Parent {
  return 'child' in logger && typeof logger.child === 'function'
}

/**
 * A child of pino, or of a similar logger, that adds the bindings itself. pino writes the bindings of a child and then
 * the fields of the line, so a name that is in both would be in the JSON twice.
 */
function ownChild(parent: Parent, bindings: object, ...options: unknown[]): Logger {
  const child = parent.child({}, ...options)
  for (const level of ['trace', ...METHODS, 'fatal']) {
    const write = child[level] as Write | undefined
    if (typeof write !== 'function') continue
    const writeBound: Write = (fields, ...rest) => {
      if (isNativeError(fields))
        write.call(child, { ...bindings, err: fields }, ...(rest.length > 0 ? rest : [fields.message]))
      else if (typeof fields === 'object') write.call(child, { ...bindings, ...fields }, ...rest)
      else write.call(child, bindings, fields, ...rest)
    }
    child[level] = writeBound
  }
  child['child'] = (more: object, ...moreOptions: unknown[]) =>
    ownChild(parent, { ...bindings, ...more }, ...moreOptions)
  return child as unknown as Logger
}
