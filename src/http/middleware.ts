import type { IncomingMessage, ServerResponse } from 'node:http'
import { OptionError } from '../base/errors.js'

/** Works with Express 4 and 5, Connect, and every framework that passes the objects of `node:http`. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Detects `app.post(path, receiver.middleware)` without the call, which would leave every callback without an
 * answer.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function refuseMisuse(name: string, argument: unknown): void {
  if (typeof argument !== 'object' || argument === null || !('rawHeaders' in argument)) return
  const messageFor = (owner: string) =>
    `${owner} was mounted without being called. Write ${owner}() with parentheses.`
  throw new OptionError('ERR_OPTION_INVALID', name, 'options', messageFor)
}
