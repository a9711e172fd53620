import { isErrorLike, property, textProperty } from '../base/foreign-value.js'
import { FailureLog } from './failure-log.js'
import { handlerLogger, type HandlerLogger } from './handler-logger.js'
import { KnownSecrets } from './known-secrets.js'
import { loggedError } from './logged-error.js'
import { silentLogger, type Logger, type LogLevel } from './logger.js'
import { StderrLogger } from './stderr-logger.js'

/**
 * Wraps a logger of the application. Exceptions of the logger do not reach the caller, because a full disk or a closed stream
 * must not keep a callback from being handled. They are reported on standard error.
 */
export class GuardedLogger implements Logger {
  readonly #logger: Logger
  readonly #secrets: KnownSecrets
  readonly #faults = new FailureLog(new StderrLogger(), 'the logger failed, so lines of the log may be lost')

  constructor(logger: Logger, secrets: KnownSecrets) {
    this.#logger = logger
    this.#secrets = secrets
  }

  debug(fields: object, message: string): void {
    this.#write('debug', fields, message)
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message)
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message)
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message)
  }

  writes(level: LogLevel): boolean {
    return !(this.#logger instanceof StderrLogger) || level === 'warn' || level === 'error'
  }

  child(bindings: object): HandlerLogger {
    const attempt = (call: () => unknown) => void this.#attempt(call)
    const write = (level: LogLevel, fields: object, text?: string) => this.#write(level, fields, text)
    return handlerLogger({ logger: this.#logger, write, attempt }, bindings)
  }

  #write(level: LogLevel, fields: object, message?: string): void {
    void this.#attempt(() => {
      const writable = this.#writable(fields)
      // Of the copy, which has no secret.
      const ofError = isErrorLike(property(fields, 'err'))
        ? textProperty(writable['err'], 'message')
        : undefined
      return this.#logger[level](writable, message ?? ofError ?? '')
    })
  }

  // An async method may reject. An unhandled rejection would end the process.
  async #attempt(call: () => unknown): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.#faults.failed({ code: 'ERR_LOGGER_FAILED', err: loggedError(error, this.#secrets) })
    }
  }

  /** Without undefined fields, which console and other loggers would print. */
  #writable(fields: object): Record<string, unknown> {
    const writable: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
      if (name === 'err') writable['err'] = loggedError(value, this.#secrets)
      else if (value !== undefined) writable[name] = value
    }
    return writable
  }
}

/** Whether lines of this level are written. If not, the caller need not prepare them. */
export function isWritten(logger: Logger, level: LogLevel): boolean {
  return logger instanceof GuardedLogger ? logger.writes(level) : logger !== silentLogger
}

/** The logger of a handler, with `bindings` on every line. */
export function childLogger(logger: Logger, bindings: object): HandlerLogger {
  if (logger === silentLogger) return { ...silentLogger }
  return (logger instanceof GuardedLogger ? logger : new GuardedLogger(logger, new KnownSecrets())).child(
    bindings,
  )
}
