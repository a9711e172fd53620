import { childOf } from './child-of-logger.js'
import type { KnownSecrets } from './known-secrets.js'
import { loggedError } from './logged-error.js'
import { silentLogger, type Logger, type LogLevel } from './logger.js'
import { StderrLogger } from './stderr-logger.js'

/**
 * Wraps a logger of the application. Exceptions of the logger are ignored, because a full disk or a closed stream must
 * not keep a callback from being handled.
 */
export class GuardedLogger implements Logger {
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
    return childOf(this.#logger, bindings, this)
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

/** Whether lines of this level are written. If not, the caller need not prepare them. */
export function isWritten(logger: Logger, level: LogLevel): boolean {
  return logger instanceof GuardedLogger ? logger.writes(level) : logger !== silentLogger
}

/** A logger that adds `bindings` to every line. */
export function childLogger(logger: Logger, bindings: object): Logger {
  if (logger instanceof GuardedLogger) return logger.child(bindings)
  return childOf(logger, bindings, logger)
}
