import type { Credentials, HeaderValue } from '../signature/credentials.js'

/** The headers of a callback that Countersign reads, as they arrived: a list if a header was repeated. */
export interface CallbackHeaders {
  readonly authorization: HeaderValue
  readonly timestamp: HeaderValue
  readonly idempotencyKey: HeaderValue
  readonly eventType: HeaderValue
  readonly contentEncoding: HeaderValue
  readonly contentLength: HeaderValue
}

/** The value of a header that arrived exactly once. */
export function onlyValue(header: HeaderValue): string | undefined {
  return typeof header === 'string' ? header : undefined
}

/**
 * A request as it arrived. Nothing in it has been verified. It is passed down as it is, and what has been read of it is added to
 * it.
 */
export interface CallbackRequest {
  /** When its headers had arrived, in milliseconds by `performance.now()`. */
  readonly arrivedAt: number
  readonly method: string | undefined
  /**
   * The path and query of the request. Only a hint: proxies and mounts rewrite it, and the signature covers the
   * callback URL.
   */
  readonly path: string
  readonly headers: CallbackHeaders
  /** All header lines: names and values in turn. */
  readonly rawHeaders: readonly string[]
  /** Whether there were so many header lines that Node may have dropped some. */
  readonly mayLackHeaders: boolean
  /** `1.0`, `1.1` or `2.0`; undefined if the server does not tell. */
  readonly httpVersion: string | undefined
  /** `IPv4` or `IPv6`, of the last connection; undefined if the server does not tell. */
  readonly addressFamily: string | undefined
  /** Undefined if the headers are a reason to refuse the request. */
  credentials: Credentials | undefined
  /** The bytes as they arrived. Undefined if they were not read, or not completely. */
  body: Buffer | undefined
  /** To be called when the body is no longer needed. Until then it counts towards `maxBufferedBytes`. */
  release: () => void
}

/** A request that can be verified. */
export interface ReadRequest extends CallbackRequest {
  credentials: Credentials
  body: Buffer
}

/** A subscription as it was created with the service. */
export interface Subscription {
  /**
   * Identifies the subscription, and together with the idempotency key a callback: 1 to 200 characters, unique in
   * the list. Required if two subscriptions share event type and URL, such as those of two tenants. It must not
   * change when the secret is replaced, because repeats are recognised by it.
   * @default the event type and the URL
   */
  readonly id?: string | undefined
  /** Exactly the `eventTypeName` that was subscribed, such as `transfers.book-completed`. */
  readonly eventTypeName: string
  /** Exactly the `callbackUrl` that was subscribed: its path, query and host are part of what is signed. */
  readonly callbackUrl: string
  /**
   * The secret text itself, not the Base64 that was sent as `secretText`. A list while a secret is being replaced:
   * a callback may be signed with any of them. The type includes undefined, so that `process.env.X` compiles;
   * undefined is refused at start-up.
   */
  readonly secret: string | readonly string[] | undefined
  /** Free text for the log, to tell tenants apart. */
  readonly description?: string | undefined
}

/** A subscription without its secret, as events and entries of an inbox carry it. */
export interface PublicSubscription {
  /** As configured; by default the event type and the URL. */
  readonly id: string
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly description?: string | undefined
}

/**
 * The id of a subscription without an `id`. Stored keys contain it (`CallbackIdentity`). It must not change, or
 * repeats of stored callbacks would not be recognised.
 */
export function defaultSubscriptionId({
  eventTypeName,
  callbackUrl,
}: Pick<PublicSubscription, 'eventTypeName' | 'callbackUrl'>): string {
  return `${eventTypeName} ${callbackUrl}`
}

/** The id, unless it is the default one, which only repeats the event type and the URL. */
export function ownSubscriptionId(subscription: PublicSubscription): string | undefined {
  return subscription.id === defaultSubscriptionId(subscription) ? undefined : subscription.id
}

/** The payload of a callback: a JSON object with an `Id`. The service documents no other field. */
export interface CallbackPayload {
  readonly Id: string
  readonly [field: string]: unknown
}

/** A callback whose signature is that of a subscription. */
export interface VerifiedCallback<Type extends string = string> {
  /** X-Event-Type, which is the `eventTypeName` of the subscription whose secret matched. */
  readonly type: Type
  /** X-Idempotency-Key in lower case: a UUID that identifies the callback. Not the `Id` of the body. */
  readonly idempotencyKey: string
  /** When the service signed it: Authorization-Timestamp. */
  readonly signedAt: Date
  readonly receivedAt: Date
  /** The exact bytes that were signed. */
  readonly rawBody: Buffer
  readonly subscription: PublicSubscription
  /** Which secret of the subscription signed it: 12 hexadecimal digits that do not reveal the secret. */
  readonly secretFingerprint: string
}

/** A verified callback as an inbox returns it to a worker. */
export interface StoredCallback extends VerifiedCallback {
  /**
   * The W3C trace context of the process that received it, as that process stored it with the entry: `traceparent`, and after
   * a line feed `tracestate` if there is one.
   */
  readonly traceContext?: string | undefined
}

/** What handlers get: a verified callback and its parsed body. */
export interface CallbackEvent<
  Type extends string = string,
  Payload = CallbackPayload,
> extends VerifiedCallback<Type> {
  /** The body as JSON, or the output of the schema of the event type. */
  readonly payload: Payload
  /** Whether an operator has it handled: by `retry`, or by `release` from quarantine. */
  readonly byOperator: boolean
}

/** The id of an entry in an inbox, as the inbox made it. Ids are compared for equality only. */
export type EntryId = string

/** Identifies a verified callback, to recognise repeats, conflicts and replays of it. Never logged. */
export interface CallbackIdentity {
  /**
   * The idempotency key and the id of its subscription: the service does not say whether a key is unique across
   * subscriptions.
   */
  readonly key: string
  readonly bodyHash: string
  readonly signature: string
}
