import { objectOption } from './option-checks.js'

/**
 * Where Countersign writes what it did: pino, console, or anything else with these four methods, each given an object
 * and then a sentence. Never given a secret, a signature, a header value of `Authorization`, or a body. What it throws is
 * dropped: a log that cannot be written is no reason to lose a callback.
 */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export function loggerOption(owner: string, logger: Logger | undefined): Logger {
  const given = objectOption(owner, 'logger', logger, silentLogger, ['debug', 'info', 'warn', 'error'])
  return given === silentLogger ? given : new ShieldedLogger(given)
}

/** A full disk or a closed stream must not come between a callback and its end: what a logger throws is dropped. */
class ShieldedLogger implements Logger {
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
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

  /** For handlers, who may want all that their own logger can do. */
  child(bindings: object): Logger {
    return childLogger(this.#logger, bindings)
  }

  // Awaited, as methods that are async reject, which nobody else would notice before it ends the process.
  async #write(level: keyof Logger, fields: object, message: string): Promise<void> {
    try {
      const written: unknown = this.#logger[level](fields, message)
      await written
    } catch {
      // There is nowhere left to complain.
    }
  }
}

/** A logger that adds `bindings` to every line, by the logger's own `child` where it has one (pino). */
export function childLogger(logger: Logger, bindings: object): Logger {
  if ('child' in logger && typeof logger.child === 'function') return logger.child(bindings) as Logger
  return {
    debug: (fields, message) => logger.debug({ ...bindings, ...fields }, message),
    info: (fields, message) => logger.info({ ...bindings, ...fields }, message),
    warn: (fields, message) => logger.warn({ ...bindings, ...fields }, message),
    error: (fields, message) => logger.error({ ...bindings, ...fields }, message),
  }
}

/**
 * An error as plain fields. Only these, never the error's own enumerable properties: HTTP clients hang whole requests
 * on their errors, Authorization header included, and a logger that copies every property would print them.
 */
export function errorFields(error: unknown): object {
  try {
    return readFields(error, 0)
  } catch {
    return { message: 'a thrown error that cannot be read' }
  }
}

function readFields(error: unknown, depth: number): object {
  if (!(error instanceof Error)) return { message: `a thrown ${error === null ? 'null' : typeof error}` }
  const { name, message, stack } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const cause = error.cause !== undefined && depth < 3 ? readFields(error.cause, depth + 1) : undefined
  return { name, message, ...(code && { code }), stack, ...(cause && { cause }) }
}
