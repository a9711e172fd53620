import { isRecord } from '../base/option-checks.js'
import { headerValues } from '../testing/http-message.js'
import type { Endpoint, RefusalReason } from './api-types.js'

/** A request whose body has been read. */
export interface ApiCall {
  readonly endpoint: Endpoint
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** SERVICE has no operation with a query. An empty query is not part of a path either. */
  readonly hasQuery: boolean
  /** Name, value, name, value, as Node's `rawHeaders`, in which repeats can be seen. */
  readonly rawHeaders: readonly string[]
  /** Undefined if it is too large. */
  readonly body: Buffer | undefined
}

/** Thrown if a request breaks a rule. */
export class ApiRefusal extends Error {
  readonly reason: RefusalReason
  readonly status: number

  constructor(status: number, reason: RefusalReason, message: string) {
    super(message)
    this.reason = reason
    this.status = status
  }
}

/** Without parameters, in lower case. Undefined if there is none, or more than one. */
export function mediaType(rawHeaders: readonly string[]): string | undefined {
  const [value, ...more] = headerValues(rawHeaders, 'content-type')
  return more.length > 0 ? undefined : value?.split(';', 1)[0]!.trim().toLowerCase()
}

/** The fields of a JSON body. @throws ApiRefusal */
export function jsonFields({ rawHeaders, body }: ApiCall): ReadonlyMap<string, unknown> {
  if (mediaType(rawHeaders) !== 'application/json') {
    throw new ApiRefusal(400, 'content-type', 'Content-Type must be application/json')
  }
  const value = body && parseJson(body)
  if (!isRecord(value)) {
    throw new ApiRefusal(400, 'body', 'the body must be a JSON object in UTF-8')
  }
  return new Map(Object.entries(value))
}

/** The parameters of a form body. URLSearchParams removes a leading question mark. */
export function formFields(body: Buffer): URLSearchParams {
  return new URLSearchParams(`&${body.toString('utf8')}`)
}

export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
