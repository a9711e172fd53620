import { invalidOption, kindOf } from '../base/option-checks.js'
import type { RequestHeaders } from './callback-headers.js'
import { ArrivedRequest } from './arrived-request.js'

/** The bytes, or a source of them: a Node stream, a web stream, an async generator, or a promise of all bytes. */
export type BodySource = Uint8Array | AsyncIterable<Uint8Array> | Promise<Uint8Array>

/** A request as plain values, from any server. */
export interface PlainRequest extends Pick<RequestHeaders, 'rawHeaders'> {
  /** By name, or as pairs of names and values, such as `Headers` of the Fetch API. Not used if there are `rawHeaders`. */
  readonly headers?: RequestHeaders['headers'] | Iterable<readonly [name: string, value: string]>
  readonly method: string
  /** Path and query. They are only hints for a `subscriptions` function: the signature covers the callback URL. */
  readonly path: string
  /** The bytes as they arrived. A function is called only if the headers give no reason to refuse the request. */
  readonly body: Uint8Array | (() => BodySource)
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function plainRequest(plain: PlainRequest): ArrivedRequest {
  checkPlainRequest(plain)
  const { method, path, rawHeaders, headers } = plain
  // `Headers` and `Map` have no own properties: they would look like a request without headers.
  const request: RequestHeaders = isIterable(headers)
    ? { rawHeaders: rawHeaders?.length ? rawHeaders : [...headers].flat().map(String) }
    : { rawHeaders, headers }
  // hapi and uWebSockets.js give the method in lower case.
  return new ArrivedRequest(method.toUpperCase(), path, request)
}

export function isIterable(headers: PlainRequest['headers']): headers is Iterable<readonly [string, string]> {
  return typeof (headers as Partial<Iterable<unknown>> | undefined)?.[Symbol.iterator] === 'function'
}

function checkPlainRequest(request: unknown): void {
  const owner = 'receiver.receive'
  if (typeof request !== 'object' || request === null) {
    const cure = 'pass an object with method, path, headers and body'
    throw invalidOption(owner, 'request', request, cure, kindOf(request))
  }
  const { method, path, rawHeaders, headers } = request as Partial<PlainRequest>
  if (typeof method !== 'string')
    throw invalidOption(owner, 'method', method, 'pass the method of the request, such as "POST"')
  if (typeof path !== 'string')
    throw invalidOption(owner, 'path', path, 'pass the path and the query of the request')
  // Without the values, which may be a signature.
  if (rawHeaders !== undefined && !isFlatList(rawHeaders)) {
    const cure = 'pass names and values in turn, as rawHeaders of node:http has them'
    throw invalidOption(owner, 'rawHeaders', rawHeaders, cure, kindOf(rawHeaders))
  }
  if (rawHeaders === undefined && (typeof headers !== 'object' || headers === null))
    throw invalidOption(owner, 'headers', headers, 'pass an object, or rawHeaders', kindOf(headers))
}

function isFlatList(rawHeaders: unknown): boolean {
  return Array.isArray(rawHeaders) && (rawHeaders.length === 0 || typeof rawHeaders[0] === 'string')
}
