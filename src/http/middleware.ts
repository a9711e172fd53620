import type { IncomingMessage, ServerResponse } from 'node:http'
import { OptionError } from '../base/errors.js'
import { invalidOption } from '../base/option-checks.js'

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

/**
 * Detects a middleware of another framework, which gets objects of its own, such as `ctx` and `next` in Koa. The answer could not
 * be written: the exception would end the process after the handlers have run.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function requireNodeResponse(name: string, response: unknown): void {
  if (typeof (response as Partial<ServerResponse> | undefined)?.writeHead === 'function') return
  const cure = 'pass the request and the response of node:http, or use receiver.receive() or receiver.fetch()'
  throw invalidOption(name, 'response', response, cure)
}
