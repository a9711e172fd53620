import type { IncomingMessage } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { CallbackHeaders, CallbackRequest } from '../callback/callback.js'
import type { Credentials } from '../signature/credentials.js'
import { callbackHeaders, headerLines, mayLackHeaders, type RequestSource } from './callback-headers.js'

const NOTHING = (): void => {}

/** A request from any server. */
export class ArrivedRequest implements CallbackRequest {
  readonly arrivedAt = performance.now()
  readonly method: string | undefined
  readonly path: string
  readonly headers: CallbackHeaders
  credentials: Credentials | undefined = undefined
  body: Buffer | undefined = undefined
  release = NOTHING
  readonly #source: RequestSource

  constructor(method: string | undefined, path: string, source: RequestSource) {
    this.method = method
    this.path = path
    this.headers = callbackHeaders(source)
    this.#source = source
  }

  // Only some requests need what follows.
  get rawHeaders(): readonly string[] {
    return headerLines(this.#source)
  }

  get mayLackHeaders(): boolean {
    return mayLackHeaders(this.#source)
  }

  get httpVersion(): string | undefined {
    return this.#source.httpVersion
  }

  get addressFamily(): string | undefined {
    return this.#source.socket?.remoteFamily
  }
}

export function arrivedRequest(request: IncomingMessage & { originalUrl?: string }): ArrivedRequest {
  return new ArrivedRequest(request.method, request.originalUrl ?? request.url ?? '/', request)
}
