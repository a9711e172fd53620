import { setMaxListeners } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CountersignError } from '../base/errors.js'
import { listen } from '../base/listen.js'
import { checkKnownOptions, integerOption } from '../base/option-checks.js'
import { checkSignal } from '../testing/argument-checks.js'
import { Api } from './api.js'
import type { AnsweredApiRequest, ServiceAccount } from './api-types.js'
import { Deliverer } from './deliverer.js'
import type { DeliverManyOptions, DeliverOptions, Delivery } from './delivery.js'
import { deliveryTarget, type DeliverTo } from './delivery-target.js'
import type { ServiceSimulatorOptions } from './options.js'
import { parseSimulatorOptions } from './settings.js'
import { seededRandom } from './random.js'
import { assertNone, deliveryReport, type DeliveryReport, type Handled } from './report.js'
import { SubscriptionBook, type ServiceSubscription, type SubscribeOptions } from './subscription-book.js'

export interface SubscribedOptions {
  /** How many subscriptions to wait for. @default 1 */
  readonly count?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** A simulation of the documented interface of the service, on a port of this machine. */
export interface ServiceSimulator {
  readonly baseUrl: string
  readonly credentials: { readonly clientId: string; readonly clientSecret: string }
  readonly seed: number
  /** In the order of their creation. They hold secrets. */
  readonly subscriptions: readonly ServiceSubscription[]
  /** By their id, with their updates. */
  readonly accounts: ReadonlyMap<string, ServiceAccount>
  /** The latest 10,000 requests to the API, without secrets and tokens. */
  readonly requests: readonly AnsweredApiRequest[]
  /** Every delivery, including those in progress. */
  readonly deliveries: readonly Delivery[]

  /** Adds a subscription without an HTTP request. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
  subscribe(options: SubscribeOptions): ServiceSubscription
  /**
   * Waits until `count` subscriptions have been created, and resolves to the latest.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN, ERR_CLOSED; the reason of the signal
   */
  subscribed(options?: SubscribedOptions): Promise<ServiceSubscription>
  /** Replaces the secret of a subscription, and returns the new one. @throws CountersignError ERR_OPTION_INVALID */
  rotateSecret(subscription: ServiceSubscription, secret?: string): string
  /** Invalidates every token that was issued. */
  revokeTokens(): void
  /** Sets where deliveries connect to from now on. @throws CountersignError ERR_OPTION_INVALID */
  deliverTo(target: DeliverTo): void

  /**
   * Delivers one callback. Resolves to its delivery when every attempt has ended, whatever was answered. Closing
   * the simulator ends the attempts and resolves it, too.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN, ERR_CLOSED; the reason of the signal
   */
  deliver(options?: DeliverOptions): Promise<Delivery>
  /** Delivers several callbacks. Resolves to their deliveries in the order of the list. */
  deliverMany(list: readonly DeliverOptions[], options?: DeliverManyOptions): Promise<Delivery[]>

  /**
   * The results of all deliveries so far, given what the handlers have handled. This method and the assertions throw if `handled`
   * is not a list of idempotency keys or events. @throws CountersignError ERR_OPTION_INVALID
   */
  report(handled: Handled): DeliveryReport
  /** Asserts that no genuine callback was answered 2xx and never handled. @throws AssertionError */
  assertNothingLost(handled: Handled): void
  /**
   * Asserts that no forged callback was handled or answered 2xx, and that nothing was handled that was never
   * delivered. @throws AssertionError
   */
  assertNothingForged(handled: Handled): void
  /**
   * Asserts that nothing suspect was handled: no replay, no other event type, nothing outside `toleranceMs`. What an
   * operator has released from quarantine was handled, and fails it. @throws AssertionError
   */
  assertNothingSuspect(handled: Handled): void
  /** Asserts that nothing was handled more than once. @throws AssertionError */
  assertNothingTwice(handled: Handled): void

  /** Ends everything immediately: connections, deliveries, retries. Safe to call twice. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a simulator of the service on 127.0.0.1, for tests and for trying out. Any number run side by side.
 *
 * @example
 * const simulator = await startServiceSimulator({ deliverTo: `http://127.0.0.1:${port}` })
 * simulator.subscribe(subscription)
 * await simulator.deliver({ fault: 'twins' })
 * simulator.assertNothingTwice(handled)
 * await simulator.close()
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN, ERR_LISTEN_FAILED
 */
export async function startServiceSimulator(
  options: ServiceSimulatorOptions = {},
): Promise<ServiceSimulator> {
  const settings = parseSimulatorOptions(options)
  const random = seededRandom(settings.seed)
  const book = new SubscriptionBook(random, settings.repeatedSubscription === 'replace')
  const api = new Api(settings, book)
  const closed = new AbortController()
  // Every request in progress listens to it. Node warns of a leak from the eleventh listener on.
  setMaxListeners(0, closed.signal)
  const deliverer = new Deliverer(settings, book, random, closed.signal)
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 20_000, connectionsCheckingInterval: 500 },
    api.listener,
  )
  server.maxConnections = 1_000
  await listen(server, { host: '127.0.0.1', port: settings.port }, 'startServiceSimulator')

  const close = async () => {
    closed.abort(new CountersignError('ERR_CLOSED', 'The simulator was closed.'))
    const ended = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await Promise.all([ended, deliverer.ended()])
  }
  let closing: Promise<void> | undefined
  const simulator: ServiceSimulator = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { clientId: settings.clientId, clientSecret: settings.clientSecret },
    seed: settings.seed,
    subscriptions: book.entries,
    accounts: api.accounts,
    requests: api.requests,
    deliveries: deliverer.deliveries,
    subscribe: (subscription) => book.subscribe(subscription),
    async subscribed(options = {}) {
      const { count, signal } = subscribedOptions(options)
      return book.added(count, signal ? AbortSignal.any([signal, closed.signal]) : closed.signal)
    },
    rotateSecret: (subscription, secret) => book.rotate(subscription, secret),
    revokeTokens: () => api.tokens.revoke(),
    deliverTo(target) {
      if (typeof target !== 'function') deliveryTarget('deliverTo', target)
      deliverer.deliverTo = target
    },
    deliver: (options = {}) => deliverer.deliver(options),
    deliverMany: (list, options = {}) => deliverer.deliverMany(list, options),
    report: (handled) => deliveryReport(deliverer.deliveries, handled, 'report'),
    ...assertionsAbout(deliverer.deliveries),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => simulator.close(),
  }
  return simulator
}

function subscribedOptions(options: SubscribedOptions) {
  const owner = 'subscribed'
  checkKnownOptions(owner, options, ['count', 'signal'])
  const { count, signal } = options
  checkSignal(owner, signal)
  return { count: integerOption(owner, 'count', count, { fallback: 1, min: 0 }), signal }
}

type Assertions = Pick<
  ServiceSimulator,
  'assertNothingLost' | 'assertNothingForged' | 'assertNothingSuspect' | 'assertNothingTwice'
>

function assertionsAbout(deliveries: readonly Delivery[]): Assertions {
  const assertions: Assertions = {
    assertNothingLost(handled) {
      const { lost } = deliveryReport(deliveries, handled, 'assertNothingLost')
      assertNone(deliveries, lost, 'answered 2xx and never handled', assertions.assertNothingLost)
    },
    assertNothingForged(handled) {
      const { forgedHandled, forgedAccepted, neverDelivered } = deliveryReport(
        deliveries,
        handled,
        'assertNothingForged',
      )
      const { assertNothingForged } = assertions
      assertNone(deliveries, forgedHandled, 'forged, and handled', assertNothingForged)
      assertNone(deliveries, forgedAccepted, 'forged, and answered 2xx', assertNothingForged)
      assertNone(deliveries, neverDelivered, 'handled, and never delivered', assertNothingForged)
    },
    assertNothingSuspect(handled) {
      const { suspectHandled } = deliveryReport(deliveries, handled, 'assertNothingSuspect')
      assertNone(deliveries, suspectHandled, 'suspect, and handled', assertions.assertNothingSuspect)
    },
    assertNothingTwice(handled) {
      const { handledTwice } = deliveryReport(deliveries, handled, 'assertNothingTwice')
      assertNone(deliveries, handledTwice, 'handled more than once', assertions.assertNothingTwice)
    },
  }
  return assertions
}
