/**
 * pino, console, or any object with these four methods. Each gets an object of fields and then a sentence. Countersign
 * never logs a secret, a signature, an `Authorization` header, or a body. An exception that the logger throws is reported on
 * standard error, once a minute, because a callback must not be lost when the log cannot be written.
 */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type LogLevel = keyof Logger

export const silentLogger = { debug() {}, info() {}, warn() {}, error() {} } satisfies Logger

export const LOG_METHODS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]
