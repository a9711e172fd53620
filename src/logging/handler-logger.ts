import { property, textProperty } from '../base/foreign-value.js'
import { isPending } from '../base/pending.js'
import { LOG_METHODS, type Logger, type LogLevel } from './logger.js'
import { pinoLine } from './pino-line.js'

/** A line as pino takes it. `values` replace `%s`, `%d`, `%j` and the other placeholders of pino in the text. */
export interface WriteLine {
  (text: string, ...values: unknown[]): void
  /** `fields` may be an Error, which becomes the field `err`. Without a text, the message of `err` is the text. */
  (fields: object, text?: string, ...values: unknown[]): void
}

/** The logger of a handler. Each method takes `('text')`, `(fields, 'text')`, `(error, 'text')` and `({ err })`, as pino does. */
export interface HandlerLogger {
  readonly debug: WriteLine
  readonly info: WriteLine
  readonly warn: WriteLine
  readonly error: WriteLine
}

type ForeignLogger = Readonly<Record<PropertyKey, unknown>>

interface Parent {
  /** The logger of the application. */
  readonly logger: Logger
  /** Writes to it. Without a text, the message of `err` is the text. */
  readonly write: (method: LogLevel, fields: object, text: string | undefined) => void
  /** Calls code of the application. What it throws is reported, and does not reach the handler. */
  readonly attempt: (call: () => unknown) => void
}

/**
 * A logger that adds `bindings` to every line. If the application's logger has children (pino), it writes to a child and has the
 * other methods of that child as well. It is an object of its own, because `child()` of some loggers returns the logger
 * itself, which all callbacks share.
 */
export function handlerLogger(parent: Parent, bindings: object): HandlerLogger {
  const logger = parent.logger as unknown as ForeignLogger
  if (typeof property(logger, 'child') === 'function')
    return likeChild(childOf(logger, parent), bindings, parent)
  const writeTo =
    (method: LogLevel): WriteLine =>
    (...line: unknown[]) =>
      parent.attempt(() => {
        const { fields, text } = pinoLine(line)
        parent.write(method, { ...bindings, ...fields }, text)
      })
  return { debug: writeTo('debug'), info: writeTo('info'), warn: writeTo('warn'), error: writeTo('error') }
}

/** A child without bindings: pino writes those of a child and those of a line, so a name in both would be in the JSON twice. */
function childOf(
  logger: ForeignLogger,
  { attempt }: Parent,
  options: readonly unknown[] = [],
): ForeignLogger {
  let found = logger
  attempt(() => {
    try {
      const child: unknown = Reflect.apply(logger['child'] as () => unknown, logger, [{}, ...options])
      if (isLogger(child)) return (found = child)
      // An unhandled rejection would end the process.
      if (isPending(child)) Promise.resolve(child).catch(() => {})
    } catch (error) {
      throw new Error('child() of the logger failed', { cause: error })
    }
    throw new TypeError('child() of the logger returned no logger')
  })
  return found
}

function isLogger(value: unknown): value is ForeignLogger {
  return LOG_METHODS.every((name) => typeof property(value, name) === 'function')
}

function likeChild(child: ForeignLogger, bindings: object, parent: Parent): HandlerLogger {
  const writeTo =
    (method: string) =>
    (...line: unknown[]) =>
      parent.attempt(() => {
        const { fields, text = textProperty(property(fields, 'err'), 'message') } = pinoLine(line)
        const given = [{ ...bindings, ...fields }, ...(text === undefined ? [] : [text])]
        // Read for each line, because pino assigns other methods when a handler sets the level.
        return Reflect.apply(child[method] as () => unknown, child, given)
      })
  const grandchild = (more: object, ...options: unknown[]) =>
    likeChild(childOf(child, parent, options), { ...bindings, ...more }, parent)
  return new Proxy({} as HandlerLogger, {
    get(_, name) {
      const value = child[name]
      if (typeof value !== 'function') return value
      if (name === 'child') return grandchild
      return typeof name === 'string' && LEVELS.has(name) ? writeTo(name) : value.bind(child)
    },
    has: (_, name) => name in child,
    // A level that a handler sets is that of its own logger. The application's logger has its own.
    set: (_, name, value) => Object.is(child, parent.logger) || Reflect.set(child, name, value),
  })
}

const LEVELS: ReadonlySet<string> = new Set(['trace', ...LOG_METHODS, 'fatal'])
