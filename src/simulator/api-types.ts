/** An answer of the API that the service does not document. */
export interface SimulatedResponse {
  /** From 200 to 599. */
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A string is sent unchanged, anything else as JSON. @default none */
  readonly body?: unknown
}

/** An operation of the simulated service; `none` for a request to no operation. */
export type Endpoint = 'token' | 'subscription' | 'account' | 'none'

/** The rule that a request broke. */
export type RefusalReason =
  | 'content-type'
  | 'body'
  | 'body-too-large'
  /** A field or parameter is missing, repeated, misspelled, or of the wrong type. */
  | 'field'
  | 'grant-type'
  | 'client-id'
  | 'client-secret'
  | 'token-missing'
  | 'token-unknown'
  | 'token-expired'
  | 'idempotency-key'
  | 'idempotency-key-reused'
  | 'no-such-path'
  | 'method'
  | 'too-many'

/** A request to the API that the simulator refused. */
export interface Refusal {
  readonly endpoint: Endpoint
  readonly reason: RefusalReason
  /** The simulator's own choice, except the 400 to a token request. */
  readonly status: number
  /** The rule, and how to follow it. It contains no secret and no token. */
  readonly message: string
}

/** A recorded request to the API, without secrets and tokens. */
export interface ApiRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly endpoint: Endpoint
  readonly contentType: string | undefined
  readonly idempotencyKey: string | undefined
  readonly hasToken: boolean
  /** The names of the received fields, in order. Undefined if the body could not be parsed. */
  readonly fields: readonly string[] | undefined
  /** The fields that may be shown. */
  readonly values: Readonly<Record<string, unknown>>
}

/** A request and its answer. */
export interface AnsweredApiRequest extends ApiRequest {
  /** Undefined if the simulator closed the connection. */
  readonly status: number | undefined
  /** Undefined if the request was accepted. */
  readonly refusal: RefusalReason | undefined
}

/** An account with its updates. */
export interface ServiceAccount {
  readonly accountId: string
  readonly name?: string
  readonly searchable?: boolean
}
