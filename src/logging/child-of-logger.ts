import { isNativeError } from 'node:util/types'
import { LOG_METHODS, type Logger } from './logger.js'

/** A logger that adds `bindings` to every line: a child of `logger` if it has children (pino), otherwise `fallback` with the bindings. */
export function childOf(logger: Logger, bindings: object, fallback: Logger): Logger {
  return hasChildren(logger) ? ownChild(logger, bindings) : bound(fallback, bindings)
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
  for (const level of ['trace', ...LOG_METHODS, 'fatal']) {
    const given = child[level]
    if (typeof given !== 'function') continue
    let write = given as Write
    const writeBound: Write = (fields, ...rest) => {
      if (isNativeError(fields))
        write.call(child, { ...bindings, err: fields }, ...(rest.length > 0 ? rest : [fields.message]))
      else if (typeof fields === 'object') write.call(child, { ...bindings, ...fields }, ...rest)
      else write.call(child, bindings, fields, ...rest)
    }
    // pino assigns other methods when a handler sets the level. They must not replace the one with the bindings.
    Object.defineProperty(child, level, {
      get: () => writeBound,
      set(assigned: Write) {
        write = assigned
      },
      configurable: true,
    })
  }
  child['child'] = (more: object, ...moreOptions: unknown[]) =>
    ownChild(parent, { ...bindings, ...more }, ...moreOptions)
  return child as unknown as Logger
}
