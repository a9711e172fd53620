import { AssertionError } from 'node:assert'
import { textProperty } from '../base/foreign-value.js'
import { invalidOption, kindOf } from '../base/option-checks.js'
import { isSuccess, type Delivery } from './delivery.js'
import type { Authenticity } from './fault.js'

/** What was handled: idempotency keys, or the events themselves. One entry per time. */
export type Handled = Iterable<string | { readonly idempotencyKey: string }>

/** Idempotency keys in lower case, each list in the order of the deliveries. */
export interface DeliveryReport {
  /** Genuine, answered 2xx, and never handled. */
  readonly lost: readonly string[]
  /** Genuine, answered, but never 2xx: lost unless the service sends it again. */
  readonly refused: readonly string[]
  /** Genuine, and never answered. */
  readonly unanswered: readonly string[]
  /** Never to be handled, and handled. */
  readonly forgedHandled: readonly string[]
  /** Forged, and answered 2xx. */
  readonly forgedAccepted: readonly string[]
  /**
   * Handled although something was wrong with every delivery, such as a timestamp outside the tolerance of the
   * receiver. This is correct only if an operator decided so.
   */
  readonly suspectHandled: readonly string[]
  readonly handledTwice: readonly string[]
  /** Handled, but never delivered by this simulator. */
  readonly neverDelivered: readonly string[]
}

/** What was sent under one idempotency key. */
interface Sent {
  readonly deliveries: Set<Delivery>
  readonly authenticities: Set<Authenticity>
  /** Of genuine attempts; undefined for one without an answer. */
  readonly genuineAnswers: (number | undefined)[]
  /** Ids of the subscriptions that it was sent to, and of those that answered 2xx: each has a callback of its own. */
  readonly sentTo: Set<string>
  readonly acceptedFor: Set<string>
  forgedAccepted: boolean
}

/** `owner` is the method that was called. @throws CountersignError ERR_OPTION_INVALID */
export function deliveryReport(
  deliveries: readonly Delivery[],
  handled: Handled,
  owner: string,
): DeliveryReport {
  const times = new Map<string, number>()
  for (const key of handledKeys(owner, handled)) times.set(key, (times.get(key) ?? 0) + 1)
  const sent = sentByKey(deliveries)
  const keysWhere = (isSo: (sent: Sent, timesHandled: number) => boolean) =>
    [...sent].filter(([key, each]) => isSo(each, times.get(key) ?? 0)).map(([key]) => key)
  const accepted = ({ genuineAnswers }: Sent) => genuineAnswers.some(isSuccess)
  const isGenuine = ({ authenticities }: Sent) => authenticities.has('genuine')
  const isSuspect = (each: Sent) => !isGenuine(each) && each.authenticities.has('suspect')
  const isForged = (each: Sent) => !isGenuine(each) && !isSuspect(each)
  const answered = ({ genuineAnswers }: Sent) => genuineAnswers.some((status) => status !== undefined)
  return {
    lost: keysWhere((each, handled) => handled < each.acceptedFor.size),
    refused: keysWhere((each) => answered(each) && !accepted(each)),
    unanswered: keysWhere((each) => isGenuine(each) && !answered(each)),
    forgedHandled: keysWhere((each, handled) => isForged(each) && handled > 0),
    forgedAccepted: keysWhere((each) => each.forgedAccepted),
    suspectHandled: keysWhere((each, handled) => isSuspect(each) && handled > 0),
    handledTwice: [...times]
      .filter(([key, count]) => count > Math.max(1, sent.get(key)?.sentTo.size ?? 1))
      .map(([key]) => key),
    neverDelivered: [...times.keys()].filter((key) => !sent.has(key)),
  }
}

/** The idempotency keys of what was handled, in lower case. @throws CountersignError ERR_OPTION_INVALID */
function handledKeys(owner: string, handled: Handled): string[] {
  const cure = 'pass what the handlers have handled: idempotency keys or events'
  // The characters of a text are not keys.
  if (typeof handled !== 'object' || typeof handled?.[Symbol.iterator] !== 'function')
    throw invalidOption(owner, 'handled', handled, `use a list; ${cure}`, kindOf(handled))
  return Array.from(handled, (each: unknown, index) => {
    const key = typeof each === 'string' ? each : textProperty(each, 'idempotencyKey')
    if (key !== undefined) return key.toLowerCase()
    throw invalidOption(owner, { option: 'handled', part: `handled[${index}]` }, each, cure, kindOf(each))
  })
}

/** @throws AssertionError */
export function assertNone(
  deliveries: readonly Delivery[],
  keys: readonly string[],
  problem: string,
  // Removed from the stack trace, which then begins at the user's call.
  caller: (...given: never[]) => unknown,
): void {
  if (keys.length === 0) return
  const sent = sentByKey(deliveries)
  const lines = keys.map((key) => [`  ${key}`, ...descriptionOf(key, sent.get(key))].join(' '))
  const message = [
    `${keys.length} ${keys.length === 1 ? 'callback was' : 'callbacks were'} ${problem}:`,
    ...lines,
  ]
  throw new AssertionError({ message: message.join('\n'), actual: keys, expected: [], stackStartFn: caller })
}

function descriptionOf(key: string, sent: Sent | undefined): string[] {
  return [...(sent?.deliveries ?? [])].map(({ number, fault, attempts }) => {
    const answers = attempts
      .filter(({ idempotencyKey }) => idempotencyKey.toLowerCase() === key)
      .map(({ status, error }) => status ?? error)
    return `(delivery ${number}, ${fault ?? 'no fault'}: answered ${answers.join(', ')})`
  })
}

function sentByKey(deliveries: readonly Delivery[]): Map<string, Sent> {
  const byKey = new Map<string, Sent>()
  for (const delivery of deliveries) {
    for (const { idempotencyKey, authenticity, status } of delivery.attempts) {
      const key = idempotencyKey.toLowerCase()
      const sent = byKey.get(key) ?? {
        deliveries: new Set(),
        authenticities: new Set(),
        genuineAnswers: [],
        sentTo: new Set(),
        acceptedFor: new Set(),
        forgedAccepted: false,
      }
      byKey.set(key, sent)
      sent.deliveries.add(delivery)
      sent.authenticities.add(authenticity)
      if (authenticity === 'genuine') {
        sent.genuineAnswers.push(status)
        sent.sentTo.add(delivery.subscription.id)
        if (isSuccess(status)) sent.acceptedFor.add(delivery.subscription.id)
      }
      if (authenticity === 'forged' && isSuccess(status)) sent.forgedAccepted = true
    }
  }
  return byKey
}
