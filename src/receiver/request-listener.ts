import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { originForm } from '../base/origin-form.js'
import { checkKnownOptions, functionOption, invalidOption, wrongOption } from '../base/option-checks.js'
import type { CallbackListener } from '../http/callback-listener.js'
import { requireNodeResponse } from '../http/middleware.js'

/**
 * A `request` listener. A `checkContinue` listener must pass it a function that sends `100 Continue`, because Node passes none:
 * `(request, response) => listener(request, response, () => response.writeContinue())`. It calls the function only if the body is
 * wanted. For `node:http` and `node:http2`.
 */
export type ReceiverRequestListener = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  sendContinue?: () => void,
) => void

export interface RequestListenerOptions {
  /** The path of callbacks; a POST to another path is passed to the app. @default every path */
  readonly path?: string | undefined
  /**
   * Whether no other listener of the server reads the requests. Callbacks are then collected into batches before
   * their bodies are read, which is faster. @default false
   */
  readonly exclusive?: boolean | undefined
}

/**
 * A listener that gives callbacks to the listener of the receiver and other requests to `app`. `listenerOf` returns the former,
 * for a server where it is exclusive or not.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function requestListener(
  app: RequestListener | undefined,
  options: RequestListenerOptions,
  listenerOf: (exclusive: boolean) => CallbackListener,
): ReceiverRequestListener {
  const owner = 'receiver.requestListener'
  if (app !== undefined) functionOption(owner, 'app', app)
  checkKnownOptions(owner, options, ['path', 'exclusive'])
  const { path, exclusive = false } = options
  if (typeof exclusive !== 'boolean') throw invalidOption(owner, 'exclusive', exclusive, 'use true or false')
  // A request never has such a path, so every callback would go to the app.
  if (path !== undefined && (typeof path !== 'string' || !/^\/[^?#]*$/.test(path)))
    throw invalidOption(owner, 'path', path, 'use a path without a query, such as "/hooks/transfers"')
  const listener = listenerOf(exclusive)
  const isCallback = ({ method, url = '/' }: IncomingMessage): boolean =>
    method === 'POST' && (path === undefined || originForm(url).split('?', 1)[0] === path)
  function countersignRequestListener(
    request: IncomingMessage,
    response: ServerResponse,
    sendContinue?: () => void,
  ): void {
    requireNodeResponse(owner, response)
    // Express passes `next` here. If it were called, Express would answer every callback 404. Express and Connect add
    // `originalUrl`, and Node has sent `100 Continue` before they get the request.
    if (sendContinue && (request.headers.expect === undefined || 'originalUrl' in request))
      throw wrongOption(owner, 'sendContinue', 'it was mounted as middleware: use receiver.middleware()')
    if (!app || isCallback(request)) return listener(request, response, sendContinue)
    sendContinue?.()
    app(request, response)
  }
  // What is used of the objects of node:http2 is the same.
  return countersignRequestListener as ReceiverRequestListener
}
