import type { KeyObject } from 'node:crypto'
import { defaultSubscriptionId, type PublicSubscription, type Subscription } from './callback.js'
import { eventTypeNameProblem } from '../base/event-type-name.js'
import type { HasAll } from '../base/has-all.js'
import {
  checkKnownOptions,
  invalidOption,
  partOf,
  refuseOption,
  wrongOption,
  type OptionPart,
} from '../base/option-checks.js'
import { callbackUrlProblem, signedUrl, type SignedUrl } from '../signature/callback-url.js'
import { hmacKey, secretProblem } from '../signature/secret.js'
import { secretFingerprint } from './secret-fingerprint.js'

/** The position of the subscription in the option, for messages. */
interface Place extends OptionPart {
  readonly owner: string
}

/** A subscription that has been checked, with everything that is needed to verify a callback except the HMAC itself. */
export interface PreparedSubscription extends PublicSubscription {
  readonly hasOwnId: boolean
  /** What its callbacks carry: one object for all of them. */
  readonly withoutSecrets: PublicSubscription
  /** A copy, so that later changes of the list by the caller have no effect. */
  readonly secrets: readonly string[]
  /** The same object for every subscription with this URL. */
  readonly url: SignedUrl
  readonly keys: readonly KeyObject[]
  /** Of the keys, in the same order. */
  readonly fingerprints: readonly string[]
}

interface PreparedSecret {
  readonly key: KeyObject
  readonly fingerprint: string
}

/**
 * Checks and prepares lists of subscriptions. A request without a valid signature costs one HMAC per candidate;
 * parsing the URLs and setting up the keys would take several times as long. Therefore both are cached, by their
 * texts and not by the objects, because a function that reads its subscriptions from a database returns new objects
 * each time.
 */
export class SubscriptionPreparer {
  /** The list that was returned last, because most functions return the same list each time. */
  #last: readonly PreparedSubscription[] = []
  readonly #urls = new PreparedTexts(urlOf)
  readonly #secrets = new PreparedTexts(preparedSecret)

  /** What was prepared last, if these subscriptions are the same. */
  unchanged(subscriptions: readonly Subscription[]): readonly PreparedSubscription[] | undefined {
    const last = this.#last
    const isSame =
      last.length === subscriptions.length && last.every((each, at) => isStill(each, subscriptions[at]))
    return isSame ? last : undefined
  }

  /** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
  prepare(
    subscriptions: readonly Subscription[],
    owner: string,
    name: string,
  ): readonly PreparedSubscription[] {
    const prepared = Array.from(subscriptions, (subscription, index) =>
      this.#prepareOne(subscription, { owner, option: 'subscriptions', part: `${name}[${index}]` }),
    )
    // Afterwards, so that a list never evicts its own entries. Otherwise a list that is longer than the limit would
    // be prepared again for every request.
    this.#urls.trim(Math.max(REMEMBERED, prepared.length))
    const secrets = prepared.reduce((sum, each) => sum + each.secrets.length, 0)
    this.#secrets.trim(Math.max(REMEMBERED, secrets))
    if (prepared.length > 1) checkDistinct(prepared, owner, name)
    this.#last = prepared
    return prepared
  }

  #prepareOne(subscription: Subscription, place: Place): PreparedSubscription {
    const { owner } = place
    checkKnownOptions(owner, subscription, KNOWN, place)
    const { id, eventTypeName, callbackUrl, secret, description } = subscription
    // Callbacks could never carry such a name: each of them would look as if its event type had been rewritten.
    const problem = eventTypeNameProblem(eventTypeName)
    refuse(problem && `${problem}.`, place)
    if (description !== undefined && typeof description !== 'string')
      throw invalidOption(owner, partOf(place, 'description'), description, 'use a text, or leave it out')
    if (id !== undefined && !isId(id)) {
      const cure = 'use 1 to 200 printable characters, such as the name of the tenant, or leave it out'
      throw invalidOption(owner, partOf(place, 'id'), id, cure)
    }
    const secrets: readonly string[] = Array.isArray(secret) ? Array.from(secret) : [secret as string]
    if (secrets.length === 0)
      throw invalidOption(owner, partOf(place, 'secret'), secret, 'list at least one secret')
    const subscribed = { eventTypeName, callbackUrl }
    const prepared = secrets.map((each) => this.#secrets.get(each, place))
    const withoutSecrets = { id: id ?? defaultSubscriptionId(subscribed), ...subscribed, description }
    return {
      ...withoutSecrets,
      hasOwnId: id !== undefined,
      // Handlers are given it, and must not change it for other callbacks.
      withoutSecrets: Object.freeze(withoutSecrets),
      url: this.#urls.get(callbackUrl, place),
      secrets,
      keys: prepared.map(({ key }) => key),
      fingerprints: prepared.map(({ fingerprint }) => fingerprint),
    }
  }
}

/** By content and not by identity, because the caller may have changed the object. */
function isStill(prepared: PreparedSubscription, given: Subscription | undefined): boolean {
  const { id, eventTypeName, callbackUrl, secret, description } = given ?? ({} as Partial<Subscription>)
  const { secrets } = prepared
  return (
    eventTypeName === prepared.eventTypeName &&
    callbackUrl === prepared.callbackUrl &&
    description === prepared.description &&
    id === (prepared.hasOwnId ? prepared.id : undefined) &&
    (Array.isArray(secret)
      ? secret.length === secrets.length && secrets.every((each, at) => each === secret[at])
      : secrets.length === 1 && secret === secrets[0])
  )
}

/** How many texts of the results of a function are cached. Above the limit the oldest are removed. */
const REMEMBERED = 10_000

const KNOWN = [
  'id',
  'eventTypeName',
  'callbackUrl',
  'secret',
  'description',
] as const satisfies readonly (keyof Subscription)[]
void (true satisfies HasAll<keyof Subscription, typeof KNOWN>)

class PreparedTexts<Result> {
  readonly #results = new Map<string, Result>()
  readonly #prepare: (text: string, place: Place) => Result

  constructor(prepare: (text: string, place: Place) => Result) {
    this.#prepare = prepare
  }

  get(text: string, place: Place): Result {
    const known = this.#results.get(text)
    if (known !== undefined) return known
    const result = this.#prepare(text, place)
    this.#results.set(text, result)
    return result
  }

  /** Removes the oldest. */
  trim(limit: number): void {
    for (const text of this.#results.keys()) {
      if (this.#results.size <= limit) return
      this.#results.delete(text)
    }
  }
}

function urlOf(callbackUrl: string, place: Place): SignedUrl {
  refuse(callbackUrlProblem(callbackUrl), place)
  return signedUrl(callbackUrl)
}

function preparedSecret(secret: string, place: Place): PreparedSecret {
  refuse(secretProblem(secret), place)
  const key = hmacKey(secret)
  return { key, fingerprint: secretFingerprint(key) }
}

function refuse(problem: string | undefined, { owner, option, part }: Place): void {
  if (problem !== undefined) refuseOption(owner, option, `${part}: ${problem}`)
}

/** Characters that are allowed in a log line and in a database column. */
function isId(id: unknown): boolean {
  return typeof id === 'string' && id.length <= 200 && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(id)
}

/**
 * Two subscriptions with one id would share their idempotency keys: a callback of one would be answered as a repeat
 * of a callback of the other. Two with the same event type, URL and secret cannot be distinguished by any callback.
 * The order of the list would then decide which of them a callback belongs to.
 * @throws CountersignError ERR_OPTION_INVALID
 */
function checkDistinct(subscriptions: readonly PreparedSubscription[], owner: string, name: string): void {
  const refuseBoth = (one: number, other: number, problem: string) => {
    throw wrongOption(owner, 'subscriptions', `${name}[${one}] and ${name}[${other}] ${problem}`)
  }
  const byId = new Map<string, number>()
  for (const [index, { id }] of subscriptions.entries()) {
    const other = byId.get(id)
    if (other !== undefined) refuseBoth(other, index, SHARED_ID)
    byId.set(id, index)
  }
  // The default ids contain event type and URL: without other ids no two can be equal.
  if (!subscriptions.some(({ hasOwnId }) => hasOwnId)) return
  const byKey = new Map<string, Map<KeyObject, number>>()
  for (const [index, subscription] of subscriptions.entries()) {
    const subscribed = defaultSubscriptionId(subscription)
    const known = byKey.get(subscribed) ?? new Map<KeyObject, number>()
    byKey.set(subscribed, known)
    for (const key of subscription.keys) {
      const other = known.get(key) ?? index
      if (other !== index) refuseBoth(other, index, SHARED_SECRET)
      known.set(key, index)
    }
  }
}

const SHARED_ID =
  'have the same id, which by default is the eventTypeName and the callbackUrl: callbacks of one would be taken for repeats ' +
  'of the other. Give each tenant an id of its own. While a secret is being replaced, list both secrets in one subscription.'

const SHARED_SECRET =
  'have the same eventTypeName, callbackUrl and a secret in common: nothing tells their callbacks apart. Give each a secret ' +
  'of its own, or leave one of them out.'
