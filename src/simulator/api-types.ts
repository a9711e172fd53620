/** What the API answers where the service does not show it. */
export interface SimulatedResponse {
  /** From 200 to 599. */
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A text is sent as it is, anything else as JSON. @default none */
  readonly body?: unknown
}

export type Endpoint = 'token' | 'subscription' | 'account' | 'none'

/** Which rule a request broke. */
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

export interface Refusal {
  readonly endpoint: Endpoint
  readonly reason: RefusalReason
  /** The simulator's own choice, but for the 400 to a token request (SERVICE 4.1). */
  readonly status: number
  /** Which rule it was and how to keep it. Repeats no secret and no token. */
  readonly message: string
}

/** A request to the API as it is recorded: without secrets, tokens, and whatever else it may hold. */
export interface ApiRequest {
  readonly method: string
  /** Without its query. */
  readonly path: string
  readonly endpoint: Endpoint
  readonly contentType: string | undefined
  readonly idempotencyKey: string | undefined
  readonly hasToken: boolean
  /** The names of the fields that arrived, in their order. Undefined when the body could not be read. */
  readonly fields: readonly string[] | undefined
  /** What may be shown of the fields. */
  readonly values: Readonly<Record<string, unknown>>
}

/** A request and what it was answered. */
export interface AnsweredApiRequest extends ApiRequest {
  /** Undefined where the simulator hung up. */
  readonly status: number | undefined
  /** Undefined for what was accepted. */
  readonly refusal: RefusalReason | undefined
}

/** An account as updates have left it (SERVICE 2.4). */
export interface ServiceAccount {
  readonly accountId: string
  readonly name?: string
  readonly searchable?: boolean
}
