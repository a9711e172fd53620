import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { CountersignError } from '../base/errors.js'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, integerOption, invalidOption, kindOf } from '../base/option-checks.js'
import { checkSignal } from '../testing/argument-checks.js'
import {
  isSuccess,
  type Attempt,
  type DeliverManyOptions,
  type DeliverOptions,
  type Delivery,
  type RetryPolicy,
} from './delivery.js'
import { faultOption, type FaultKind, type Authenticity } from './fault.js'
import { targetOf, type DeliverTo } from './delivery-target.js'
import { retryOption, type SimulatorSettings } from './settings.js'
import { planDelivery, type DeliveryPlan } from './plan.js'
import type { PlannedRequest } from './planned-request.js'
import type { Random } from './random.js'
import { send, type Answer } from './send.js'
import type { ServiceSubscription, SubscriptionBook } from './subscription-book.js'
import { parseHttpDate } from '../signature/timestamp.js'

const KNOWN = [
  'subscription',
  'eventTypeName',
  'payload',
  'body',
  'idempotencyKey',
  'timestamp',
  'fault',
  'retry',
  'signal',
] as const satisfies readonly (keyof DeliverOptions)[]
void (true satisfies HasAll<keyof DeliverOptions, typeof KNOWN>)

interface DeliveryRecord extends Delivery {
  readonly attempts: Attempt[]
}

interface Prepared {
  readonly subscription: ServiceSubscription
  readonly fault: FaultKind | undefined
  readonly plan: DeliveryPlan
  readonly retry: RetryPolicy | undefined
  readonly signal: AbortSignal
  readonly callerSignal: AbortSignal | undefined
}

interface Recorded extends Prepared {
  readonly record: DeliveryRecord
}

/** Delivers callbacks (SERVICE 4.4) and records the result of each. */
export class Deliverer {
  readonly deliveries: DeliveryRecord[] = []
  deliverTo: DeliverTo | undefined
  readonly #settings: SimulatorSettings
  readonly #book: SubscriptionBook
  readonly #random: Random
  readonly #closed: AbortSignal
  readonly #underWay = new Set<Promise<Delivery>>()

  constructor(settings: SimulatorSettings, book: SubscriptionBook, random: Random, closed: AbortSignal) {
    this.deliverTo = settings.deliverTo
    this.#settings = settings
    this.#book = book
    this.#random = random
    this.#closed = closed
  }

  async deliver(options: DeliverOptions): Promise<Delivery> {
    return await this.#start(this.#record(this.#prepare(options)))
  }

  async deliverMany(list: readonly DeliverOptions[], options: DeliverManyOptions): Promise<Delivery[]> {
    const owner = 'deliverMany'
    if (!Array.isArray(list))
      throw invalidOption(owner, 'list', list, 'pass a list of the options of deliver', kindOf(list))
    checkKnownOptions(owner, options, ['concurrency', 'shuffle'])
    const { shuffle = false } = options
    if (typeof shuffle !== 'boolean') throw invalidOption(owner, 'shuffle', shuffle, 'use true or false')
    const concurrency = integerOption(owner, 'concurrency', options.concurrency, {
      fallback: 1,
      min: 1,
    })
    // All before the first is sent: the values from the seed then do not depend on the order of the answers, and a
    // wrong option is found before anything is recorded.
    const recorded = list.map((each) => this.#prepare(each)).map((each) => this.#record(each))
    const order = shuffle ? this.#random.shuffle(recorded) : recorded
    const next = order.values()
    const lane = async () => {
      for (const each of next) await this.#start(each)
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, order.length) }, lane))
    return recorded.map(({ record }) => record)
  }

  /** Resolves once no delivery is in progress. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  #prepare(options: DeliverOptions): Prepared {
    if (this.#closed.aborted) throw new CountersignError('ERR_CLOSED', 'deliver: the simulator is closed.')
    checkKnownOptions('deliver', options, KNOWN)
    const { eventTypeName, signal: callerSignal } = options
    checkSignal('deliver', callerSignal)
    const subscription = this.#book.choose(options.subscription, eventTypeName)
    const fault = options.fault === undefined ? undefined : faultOption(options.fault)
    const retry = options.retry === undefined ? this.#settings.retry : retryOption('deliver', options.retry)
    // Checks the target before anything is sent.
    targetOf(this.deliverTo, subscription.callbackUrl)
    const plan = planDelivery(subscription, options, fault, this.#random, this.#settings.clock)
    const signal = callerSignal ? AbortSignal.any([this.#closed, callerSignal]) : this.#closed
    setMaxListeners(0, signal)
    return { subscription, fault: fault?.kind, plan, retry, signal, callerSignal }
  }

  #record(prepared: Prepared): Recorded {
    const { subscription, fault, plan } = prepared
    const record: DeliveryRecord = {
      number: this.deliveries.length + 1,
      idempotencyKey: plan.idempotencyKey,
      eventType: subscription.eventTypeName,
      fault,
      subscription,
      body: plan.body,
      genuine: plan.requests.some((request) => authenticityNow(request, this.#settings) === 'genuine'),
      attempts: [],
    }
    this.deliveries.push(record)
    return { ...prepared, record }
  }

  #start(recorded: Recorded): Promise<Delivery> {
    const running = this.#run(recorded).then(() => recorded.record)
    this.#underWay.add(running)
    const forget = () => this.#underWay.delete(running)
    running.then(forget, forget)
    return running
  }

  async #run(recorded: Recorded): Promise<void> {
    const { plan, record, retry } = recorded
    if (plan.atOnce) {
      await Promise.all(plan.requests.map((request) => this.#attempt(request, recorded)))
    } else {
      for (const request of plan.requests) await this.#attempt(request, recorded)
    }
    if (!retry || !record.genuine) return
    const { delaysMs, timestamp, isDelivered = isSuccess } = retry
    const isTaken = ({ authenticity, status }: Attempt) =>
      authenticity === 'genuine' && status !== undefined && isDelivered(status)
    const isOver = () => this.#closed.aborted || record.attempts.some(isTaken)
    for (const [index, delayMs] of delaysMs.entries()) {
      if (isOver()) return
      await this.#pause(delayMs, recorded)
      if (isOver()) return
      await this.#attempt(plan.retry(index + 1, timestamp === 'fresh'), recorded, true)
    }
  }

  async #pause(delayMs: number, { signal, callerSignal }: Prepared): Promise<void> {
    await delay(delayMs, undefined, { signal }).catch(() => {})
    callerSignal?.throwIfAborted()
  }

  async #attempt(
    request: PlannedRequest,
    { record, signal, callerSignal }: Recorded,
    isRetry = false,
  ): Promise<void> {
    callerSignal?.throwIfAborted()
    const target = targetOf(this.deliverTo, record.subscription.callbackUrl)
    const { headers } = request.callback
    const authenticity = authenticityNow(request, this.#settings)
    const startedAt = performance.now()
    let answer: Answer | undefined
    let error: string | undefined
    try {
      answer = await send(request, target, { timeoutMs: this.#settings.answerTimeoutMs, signal })
      if (!answer) error = 'CUT'
    } catch (cause) {
      error = this.#closed.aborted ? 'CLOSED' : codeOf(cause)
    }
    const attempt: Attempt = {
      idempotencyKey: headers['X-Idempotency-Key']!,
      eventType: headers['X-Event-Type']!,
      authenticity,
      isRetry,
      timestamp: headers['Authorization-Timestamp']!,
      status: answer?.status,
      headers: answer?.headers ?? {},
      body: answer?.body ?? Buffer.alloc(0),
      ...(error !== undefined && { error }),
      durationMs: performance.now() - startedAt,
    }
    record.attempts.push(attempt)
    const { number, fault } = record
    this.#settings.logger.info({ delivery: number, fault, status: attempt.status, error }, 'delivery attempt')
    callerSignal?.throwIfAborted()
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : name
}

/**
 * How a request has to be classified if it is sent now. A valid signature is suspect outside the tolerance of the
 * receiver, whether a fault, an explicit timestamp or a late retry is the cause. Within the tolerance a receiver
 * has to handle it.
 */
function authenticityNow(
  { authenticity, callback }: PlannedRequest,
  { clock, toleranceMs, futureToleranceMs }: SimulatorSettings,
): Authenticity {
  if (authenticity !== 'genuine') return authenticity
  const signedAtMs = parseHttpDate(callback.headers['Authorization-Timestamp'] ?? '')
  const ageMs = signedAtMs === undefined ? Number.NaN : clock() - signedAtMs
  return ageMs <= toleranceMs && -ageMs <= futureToleranceMs ? 'genuine' : 'suspect'
}
