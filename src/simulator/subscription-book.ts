import { randomBytes } from 'node:crypto'
import { eventTypeNameProblem } from '../base/event-type-name.js'
import { textProperty } from '../base/foreign-value.js'
import { checkKnownOptions, invalidOption, refuseOption } from '../base/option-checks.js'
import { callbackUrlProblem } from '../signature/index.js'
import { secretProblem } from '../signature/secret.js'
import type { Random } from './random.js'

/**
 * A subscription of the simulator. It can be used in the `subscriptions` of a receiver: `previousSecret` and
 * `idempotencyKey`, which a receiver does not accept, are accessors, which are neither enumerated nor copied.
 */
export interface ServiceSubscription {
  /** The service documents no identifier. It is the one given to `subscribe()`, or the simulator's own. */
  readonly id: string
  readonly eventTypeName: string
  readonly callbackUrl: string
  /** The secret text, decoded from the `secretText` that was sent. */
  readonly secret: string
  /** The secret before the last `rotateSecret()`. */
  readonly previousSecret?: string | undefined
  readonly description?: string | undefined
  /** X-Idempotency-Key of the request that created it; undefined if `subscribe()` created it. */
  readonly idempotencyKey?: string | undefined
}

/** A subscription that is created without a request to the API. */
export interface SubscribeOptions {
  /** For a subscription that a receiver is configured with as well. @default the simulator's own */
  readonly id?: string | undefined
  /** The event type, such as `transfers.book-completed`. */
  readonly eventTypeName: string
  /** The absolute URL that is signed, to which callbacks are sent unless `deliverTo` is set. */
  readonly callbackUrl: string
  /** The secret text, not its Base64. @default 256 random bits */
  readonly secret?: string | undefined
  /** Free text. @default none */
  readonly description?: string | undefined
}

/** Any program on this machine may create any number of subscriptions. */
const MAX_SUBSCRIPTIONS = 10_000

type NewSubscription = Omit<ServiceSubscription, 'previousSecret'>

class Entry implements ServiceSubscription {
  readonly id: string
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly description: string | undefined
  secret: string
  #previousSecret: string | undefined
  readonly #idempotencyKey: string | undefined

  constructor({ id, eventTypeName, callbackUrl, secret, description, idempotencyKey }: NewSubscription) {
    this.id = id
    this.eventTypeName = eventTypeName
    this.callbackUrl = callbackUrl
    this.secret = secret
    this.description = description
    this.#idempotencyKey = idempotencyKey
  }

  get previousSecret(): string | undefined {
    return this.#previousSecret
  }

  get idempotencyKey(): string | undefined {
    return this.#idempotencyKey
  }

  rotate(secret: string): void {
    this.#previousSecret = this.secret
    this.secret = secret
  }
}

/** All subscriptions, however they were created. */
export class SubscriptionBook {
  readonly entries: Entry[] = []
  /** How many have been created in all, including replaced ones. */
  created = 0
  readonly #random: Random
  readonly #replaces: boolean
  #waiting: (() => void)[] = []

  constructor(random: Random, replaces: boolean) {
    this.#random = random
    this.#replaces = replaces
  }

  get isFull(): boolean {
    return this.entries.length >= MAX_SUBSCRIPTIONS
  }

  add({
    id = this.#random.uuid(),
    ...subscription
  }: Omit<NewSubscription, 'id'> & Pick<SubscribeOptions, 'id'>): ServiceSubscription {
    const entry = new Entry({ id, ...subscription })
    if (this.#replaces) {
      const { eventTypeName, callbackUrl } = subscription
      const replaced = this.entries.findIndex(
        (each) => each.eventTypeName === eventTypeName && each.callbackUrl === callbackUrl,
      )
      if (replaced >= 0) this.entries.splice(replaced, 1)
    }
    this.entries.push(entry)
    this.created++
    for (const wake of this.#waiting.splice(0)) wake()
    return entry
  }

  /** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
  subscribe(options: SubscribeOptions): ServiceSubscription {
    const owner = 'subscribe'
    checkKnownOptions(owner, options, ['id', 'eventTypeName', 'callbackUrl', 'secret', 'description'])
    const { id, eventTypeName, callbackUrl, description, secret = newSecret() } = options
    if (id !== undefined && (typeof id !== 'string' || id === ''))
      throw invalidOption(owner, 'id', id, 'use a text, or leave it out')
    if (this.entries.some((each) => each.id === id))
      throw invalidOption(owner, 'id', id, 'another subscription has it: use one that is free')
    refuseOption(owner, 'eventTypeName', eventTypeNameProblem(eventTypeName))
    refuseOption(owner, 'callbackUrl', callbackUrlProblem(callbackUrl))
    refuseOption(owner, 'secret', secretProblem(secret))
    return this.add({ id, eventTypeName, callbackUrl, secret, description })
  }

  /** Returns the new secret. @throws CountersignError ERR_OPTION_INVALID */
  rotate(subscription: ServiceSubscription, secret: string = newSecret()): string {
    refuseOption('rotateSecret', 'secret', secretProblem(secret))
    this.#find(subscription, 'rotateSecret').rotate(secret)
    return secret
  }

  /** @throws CountersignError ERR_OPTION_INVALID */
  choose(
    subscription: ServiceSubscription | undefined,
    eventTypeName: string | undefined,
  ): ServiceSubscription {
    if (subscription) return this.#find(subscription, 'deliver')
    const found = this.entries.findLast(
      (each) => each.eventTypeName === (eventTypeName ?? each.eventTypeName),
    )
    if (found) return found
    const cure = 'create one with subscribe() or POST /webhooks/v1/ first'
    throw invalidOption('deliver', 'eventTypeName', eventTypeName, `there is no such subscription: ${cure}`)
  }

  /** Resolves to the latest subscription, once `count` have been created. Rejects with the signal's reason. */
  async added(count: number, signal: AbortSignal): Promise<ServiceSubscription> {
    while (this.entries.length === 0 || this.created < count) {
      signal.throwIfAborted()
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal.removeEventListener('abort', wake)
          resolve()
        }
        signal.addEventListener('abort', wake)
        this.#waiting.push(wake)
      })
    }
    return this.entries.at(-1)!
  }

  #find(subscription: ServiceSubscription, owner: string): Entry {
    const id = textProperty(subscription, 'id')
    const found = this.entries.find((each) => each.id === id)
    if (found) return found
    const cure =
      'pass one of simulator.subscriptions, such as subscribe() returns; this one is not among them, or was replaced'
    throw invalidOption(owner, 'subscription', id, cure, 'not known')
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}
