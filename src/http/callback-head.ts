import type { IncomingMessage } from 'node:http'
import type { CallbackHeaders } from '../callback/callback.js'
import { callbackHeaders, mayLackHeaders, type RequestSource } from './callback-headers.js'

/** The values of a request that are known before its body is read. */
export interface CallbackHead {
  readonly method: string | undefined
  readonly path: string
  readonly headers: CallbackHeaders
  /** Whether there were so many header lines that Node may have dropped some. */
  readonly mayLackHeaders: boolean
  /** The request itself: a probe, a capture and the inbox read more of it than `headers` has. */
  readonly request: RequestSource
}

export function callbackHead(method: string | undefined, path: string, request: RequestSource): CallbackHead {
  return {
    method,
    path,
    headers: callbackHeaders(request),
    mayLackHeaders: mayLackHeaders(request),
    request,
  }
}

export function requestHead(request: IncomingMessage & { originalUrl?: string }): CallbackHead {
  return callbackHead(request.method, request.originalUrl ?? request.url ?? '/', request)
}
