import { parseUrl } from '../base/parse-url.js'

/** What `NAME.json` says of a recorded request. */
export interface RecordedDescription {
  /** The program that sent it. */
  readonly sender: string
  /** The subscription it was sent for. */
  readonly subscription: RecordedSubscription
  /** The expected answer. */
  readonly expect: { readonly status: number; readonly outcome: string }
  /** Why the case exists; may be empty. */
  readonly note: string
}

/** The subscription of a recorded request, with which a receiver accepts it. */
export interface RecordedSubscription {
  /** Set by `recordedSubscriptions` if several subscriptions have the same event type and URL. */
  readonly id?: string | undefined
  readonly eventTypeName: string
  readonly callbackUrl: string
  /** The secret text. A recording is part of a repository: never use a real secret. */
  readonly secret: string
}

/** `invalid` makes the error for a problem with its file. */
export function parseDescription(json: string, invalid: (problem: string) => Error): RecordedDescription {
  let description: unknown
  try {
    description = JSON.parse(json)
  } catch {
    // Without the parser's message, because it quotes the text, which has the secret.
    throw invalid('is not JSON.')
  }
  const field = (path: string, must: string, accept: (value: unknown) => boolean) => {
    const value = valueAt(description, path)
    if (accept(value)) return value
    throw invalid(`must have "${path}": ${must}.`)
  }
  const text = (path: string, must: string, accept = (value: string) => value !== '') =>
    field(path, must, (value) => typeof value === 'string' && accept(value)) as string

  return {
    sender: text('sender', 'the name of the program that sent it'),
    subscription: {
      eventTypeName: text('subscription.eventTypeName', 'the subscribed event type'),
      callbackUrl: text('subscription.callbackUrl', 'the subscribed http or https URL', isHttpUrl),
      secret: text('subscription.secret', 'the secret text, not empty'),
    },
    expect: {
      status: field('expect.status', 'the answer, a number from 200 to 599', isStatus) as number,
      outcome: text('expect.outcome', 'a word such as "handled", "duplicate" or "refused"'),
    },
    note: text('note', 'why the case exists, or an empty string', () => true),
  }
}

function valueAt(value: unknown, path: string): unknown {
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function isHttpUrl(value: string): boolean {
  return /^https?:$/.test(parseUrl(value)?.protocol ?? '')
}

function isStatus(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599
}
