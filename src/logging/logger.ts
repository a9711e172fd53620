import { isNativeError } from 'node:util/types'
import { consoleLogger, isConsole } from './console-logger.js'
import { KnownSecrets } from './known-secrets.js'
import { loggedError } from './logged-error.js'
import { objectOption } from '../base/option-checks.js'
import { StderrLogger } from './stderr-logger.js'

/**
 * Where Countersign writes what it did: pino, console, or anything else with these four methods, each given an object
 * and then a sentence. Never given a secret, a signature, a header value of `Authorization`, or a body. An exception that
 * it throws is dropped: a log that cannot be written is no reason to lose a callback.
 */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type LogLevel = keyof Logger

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const METHODS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]

/**
 * The logger of an option: standard error when it is undefined, none when it is false. What it is given under `err` may be
 * anything that was thrown: it is written as an Error of bounded size, without `secrets`.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function loggerOption(
  owner: string,
  logger: Logger | false | undefined,
  secrets = new KnownSecrets(),
): Logger {
  if (logger === false) return silentLogger
  const given = objectOption<Logger>(owner, 'logger', logger, new StderrLogger(), METHODS)
  // One of these is given by a receiver to the store that it makes.
  if (given === silentLogger || given instanceof GuardedLogger) return given
  return new GuardedLogger(isConsole(given) ? consoleLogger(given) : given, secrets)
}

/** Whether lines of this level are written at all, to save the work of making them. */
export function isWritten(logger: Logger, level: LogLevel): boolean {
  return logger instanceof GuardedLogger ? logger.writes(level) : logger !== silentLogger
}

/**
 * In front of a logger of somebody else. A full disk or a closed stream must not come between a callback and its end: what
 * the logger throws is dropped.
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

  /** For handlers: with all that the logger of the application can do, where it has children of its own. */
  child(bindings: object): Logger {
    return hasChildren(this.#logger) ? ownChild(this.#logger, bindings) : bound(this, bindings)
  }

  // Awaited, as methods that are async reject, which nobody else would notice before it ends the process.
  async #write(level: LogLevel, fields: object, message: string): Promise<void> {
    try {
      const written: unknown = this.#logger[level](this.#writable(fields), message)
      await written
    } catch {
      // There is nowhere left to complain.
    }
  }

  /** Without what is undefined, which console and others would print. */
  #writable(fields: object): object {
    const writable: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
      if (name === 'err') writable['err'] = loggedError(value, this.#secrets)
      else if (value !== undefined) writable[name] = value
    }
    return writable
  }
}

/** A logger that adds `bindings` to every line, by the logger's own `child` where it has one (pino). */
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
 * A child of pino, or of a logger like it, that adds the bindings itself: pino writes the bindings of a child and then the
 * fields of the line, and a name that is in both would be in its JSON twice.
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
