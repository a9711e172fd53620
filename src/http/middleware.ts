import type { IncomingMessage, ServerResponse } from 'node:http'
import { CountersignError } from '../base/errors.js'

/** Fits Express 4 and 5, Connect, and anything else that calls with `node:http`'s own objects. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/** `app.post(path, receiver.middleware)`, without the call, would leave every callback without an answer. */
export function refuseMisuse(name: string, argument: unknown): void {
  if (typeof argument !== 'object' || argument === null || !('rawHeaders' in argument)) return
  const message = `${name} was mounted without being called. Write ${name}() with parentheses.`
  throw new CountersignError('ERR_OPTION_INVALID', message)
}
