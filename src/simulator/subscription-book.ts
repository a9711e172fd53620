import { randomBytes } from 'node:crypto'
import { eventTypeNameProblem } from '../base/event-type-name.js'
import { checkKnownOptions, invalidOption, refuseOption } from '../base/option-checks.js'
import { callbackUrlProblem } from '../signature/index.js'
import { secretProblem } from '../signature/secret.js'
import type { Random } from './random.js'

/** A subscription as the simulator keeps it (SERVICE 2.3). */
export interface ServiceSubscription {
  /** The service shows no identifier: as given to `subscribe()`, or else the simulator's own. */
  readonly id: string
  readonly eventTypeName: string
  readonly callbackUrl: string
  /** The secret text, decoded from the `secretText` that was sent. */
  readonly secret: string
  /** The one from before `rotateSecret()`. */
  readonly previousSecret?: string | undefined
  readonly description?: string | undefined
  /** X-Idempotency-Key of the request that created it; undefined for one made by `subscribe()`. */
  readonly idempotencyKey?: string | undefined
}

export interface SubscribeOptions {
  /** For a subscription that a receiver is configured with, too. @default the simulator's own */
  readonly id?: string | undefined
  readonly eventTypeName: string
  readonly callbackUrl: string
  /** The secret text, not its Base64. @default 256 random bits */
  readonly secret?: string | undefined
  readonly description?: string | undefined
}

/** A stranger on this machine may create subscriptions without end. */
const MAX_SUBSCRIPTIONS = 10_000

type Entry = { -readonly [Name in keyof ServiceSubscription]: ServiceSubscription[Name] }

/** All subscriptions, however they were created. */
export class SubscriptionBook {
  readonly entries: Entry[] = []
  /** How many there have ever been, replaced ones included. */
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
  }: Omit<ServiceSubscription, 'id'> & Pick<SubscribeOptions, 'id'>): ServiceSubscription {
    const entry = { id, ...subscription }
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
    const entry = this.#find(subscription, 'rotateSecret')
    entry.previousSecret = entry.secret
    entry.secret = secret
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

  /** Resolves to the latest subscription, once so many have been created. Rejects with the signal's reason. */
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

  #find({ id }: ServiceSubscription, owner: string): Entry {
    const found = this.entries.find((each) => each.id === id)
    if (found) return found
    const cure =
      'pass one of simulator.subscriptions, such as subscribe() returns; this one is none, or was replaced'
    throw invalidOption(owner, 'subscription', id, cure, 'not known')
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}
