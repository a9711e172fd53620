import type { Tolerance } from '../callback/authenticate.js'
import type { Subscription } from '../callback/callback.js'
import { toleranceOptions } from '../callback/tolerance.js'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, integerOption, invalidOption, kindOf } from '../base/option-checks.js'
import { parseUrl } from '../base/parse-url.js'
import type { ReceivedRequest } from './received-request.js'

/** Options of `explainCallback`. */
export interface ExplainOptions {
  /** What is configured. A callbackUrl that a receiver refuses because of its spelling is allowed: it may be the cause. */
  readonly subscriptions: readonly Subscription[]
  /** Secrets that were configured before, or that may be meant. At most 100. @default [] */
  readonly previousSecrets?: readonly string[] | undefined
  /** URLs that may have been subscribed. At most 100. @default [] */
  readonly urls?: readonly string[] | undefined
  /**
   * Other requests that arrived, with the time. They show whether all clocks differ by the same time, and whether the same
   * signature arrived under another idempotency key. The first 100 are used. @default []
   */
  readonly otherRequests?: readonly ReceivedRequest[] | undefined
  /** The receiver's `toleranceMs`, in milliseconds. @default 86_400_000 (24 hours) */
  readonly toleranceMs?: number | undefined
  /** The receiver's `futureToleranceMs`, in milliseconds. @default 300_000 (5 min) */
  readonly futureToleranceMs?: number | undefined
  /** How many HMACs may be computed: 1 to 2,000. @default 2_000 */
  readonly maxHmacs?: number | undefined
  /**
   * After how many milliseconds of processor time the search ends: 1 to 10,000. The last step may take longer, in proportion to
   * the size of the body. @default 50
   */
  readonly maxMs?: number | undefined
}

const KNOWN = [
  'subscriptions',
  'previousSecrets',
  'urls',
  'otherRequests',
  'toleranceMs',
  'futureToleranceMs',
  'maxHmacs',
  'maxMs',
] as const satisfies readonly (keyof ExplainOptions)[]
void (true satisfies HasAll<keyof ExplainOptions, typeof KNOWN>)

export interface ExplainSettings extends Tolerance {
  readonly subscriptions: readonly ExplainedSubscription[]
  readonly previousSecrets: readonly string[]
  readonly urls: readonly string[]
  readonly otherRequests: readonly ReceivedRequest[]
  readonly maxHmacs: number
  readonly maxMs: number
}

export interface ExplainedSubscription {
  readonly id: string | undefined
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly url: URL
  readonly secrets: readonly string[]
}

const OWNER = 'explainCallback'
const MAX_GIVEN = 100

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseExplainOptions(options: ExplainOptions): ExplainSettings {
  checkKnownOptions(OWNER, options, KNOWN)
  return {
    subscriptions: listOption('subscriptions', options.subscriptions).map(subscriptionOption),
    previousSecrets: textsOption('previousSecrets', options.previousSecrets),
    urls: textsOption('urls', options.urls),
    otherRequests: listOption('otherRequests', options.otherRequests ?? []).slice(0, MAX_GIVEN),
    ...toleranceOptions(OWNER, options),
    maxHmacs: integerOption(OWNER, 'maxHmacs', options.maxHmacs, { fallback: 2_000, min: 1, max: 2_000 }),
    maxMs: integerOption(OWNER, 'maxMs', options.maxMs, { fallback: 50, min: 1, max: 10_000 }),
  }
}

function subscriptionOption(subscription: Subscription, index: number): ExplainedSubscription {
  const { id, eventTypeName, callbackUrl, secret } = Object(subscription) as Partial<Subscription>
  const part = (name: string) => ({ option: 'subscriptions', part: `subscriptions[${index}]: ${name}` })
  if (typeof eventTypeName !== 'string') {
    throw invalidOption(OWNER, part('eventTypeName'), eventTypeName, 'use the name that was subscribed')
  }
  const url = typeof callbackUrl === 'string' ? parseUrl(callbackUrl) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw invalidOption(
      OWNER,
      part('callbackUrl'),
      callbackUrl,
      'use the absolute URL that was subscribed',
      kindOf(callbackUrl),
    )
  }
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  if (secrets.length === 0 || !secrets.every((each) => typeof each === 'string' && each !== '')) {
    throw invalidOption(
      OWNER,
      part('secret'),
      secret,
      'use the secret text, or a list of at least one',
      kindOf(secret),
    )
  }
  return { id, eventTypeName, callbackUrl: callbackUrl!, url, secrets: secrets as readonly string[] }
}

function listOption<Item>(name: string, value: readonly Item[]): readonly Item[] {
  if (Array.isArray(value)) return value
  throw invalidOption(OWNER, name, value, 'pass a list', kindOf(value))
}

function textsOption(name: string, value: readonly string[] | undefined): readonly string[] {
  const texts = listOption(name, value ?? [])
  // Without the texts: each may be a secret.
  const wrong =
    texts.length > MAX_GIVEN ? `a list of ${texts.length}` : 'a list with something else than texts'
  if (texts.length > MAX_GIVEN || !texts.every((each) => typeof each === 'string' && each !== '')) {
    throw invalidOption(
      OWNER,
      name,
      value,
      `pass a list of at most ${MAX_GIVEN} texts, none of them empty`,
      wrong,
    )
  }
  return texts
}
