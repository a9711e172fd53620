import type { Attempt, Delivery } from '../../../simulator/delivery.js'
import { withoutQuery } from '../../../callback/subscriptions.js'
import { rightAnswers } from '../../../simulator/fault.js'
import type { ServiceSubscription } from '../../../simulator/subscription-book.js'
import type { Io } from '../../io.js'
import { asciiJson, printable } from '../../../base/printable.js'
import { table, utcTime, widthOf } from '../../table.js'

export type ReceiverKind = 'inbox' | 'inline' | 'either'

/** Prints the result of each attempt, and returns whether every answer was correct. */
export function printDeliveries(
  { callbackUrl, eventTypeName }: ServiceSubscription,
  deliveries: readonly Delivery[],
  flags: { readonly receiver: ReceiverKind; readonly json?: true },
  io: Io,
): boolean {
  const rows = rowsOf(deliveries, flags.receiver)
  const areRight = rows.every(({ isRight }) => isRight)
  if (flags.json) {
    printLine(io, { event: 'delivered', eventTypeName, callbackUrl, attempts: rows, areRight })
    return areRight
  }
  io.stdout.write(`${printable(eventTypeName)} to ${printable(withoutQuery(callbackUrl))}\n`)
  printTable(rows, io)
  const wrong = rows.filter(({ isRight }) => !isRight).length
  io.stdout.write(`${rows.length} sent, ${wrong === 0 ? 'every answer right' : `WRONG answers: ${wrong}`}\n`)
  return areRight
}

/** The attempts of all deliveries, as --json prints them. */
function rowsOf(deliveries: readonly Delivery[], receiver: ReceiverKind) {
  return deliveries.flatMap(({ number, fault, attempts }) =>
    attempts.map((attempt, index) => ({
      delivery: number,
      fault: fault ?? 'none',
      idempotencyKey: attempt.idempotencyKey,
      timestamp: attempt.timestamp,
      status: attempt.status,
      error: attempt.error,
      durationMs: Math.round(attempt.durationMs * 10) / 10,
      isRetry: attempt.isRetry,
      ...judged(attempt, right(receiver, attempt, fault, index)),
    })),
  )
}

function printTable(rows: ReturnType<typeof rowsOf>, io: Io): void {
  const lines = rows.map(
    ({ delivery, fault, isRetry, idempotencyKey, timestamp, status, error, durationMs, isRight, right }) => [
      String(delivery),
      isRetry ? `${fault}, retry` : fault,
      idempotencyKey,
      utcTime(timestamp),
      String(status ?? (error === 'CUT' ? 'hung up' : `no answer (${error})`)),
      `${durationMs} ms`,
      isRight ? 'ok' : `EXPECTED ${right.join(' or ') || 'no answer'}`,
    ],
  )
  const header = ['', 'fault', 'key', 'signed (UTC)', 'answer', 'took', '']
  io.stdout.write(
    table([header, ...lines], {
      width: widthOf(io.stdout),
      narrow: [
        [2, 9],
        [4, 16],
        [6, 20],
      ],
    }),
  )
}

/** One JSON object per line, in ASCII: clients of the simulator write some of the values. */
export function printLine(io: Io, value: unknown): void {
  io.stdout.write(`${asciiJson(value)}\n`)
}

function right(
  receiver: ReceiverKind,
  { isRetry, authenticity }: Attempt,
  kind: Delivery['fault'],
  index: number,
): readonly number[] {
  const fault = judgedAs(kind, isRetry, authenticity)
  if (receiver !== 'either') return rightAnswers(fault, receiver, index)
  return [...new Set([...rightAnswers(fault, 'inline', index), ...rightAnswers(fault, 'inbox', index)])]
}

/**
 * A retry is the callback without its fault. Whether it, or a late or early callback, is in time depends on the
 * tolerance.
 */
function judgedAs(
  kind: Delivery['fault'],
  isRetry: boolean,
  authenticity: Attempt['authenticity'],
): Delivery['fault'] {
  if (isRetry) return authenticity === 'suspect' ? 'late' : undefined
  return (kind === 'late' || kind === 'early') && authenticity === 'genuine' ? undefined : kind
}

function judged({ status, error }: Attempt, right: readonly number[]) {
  const isRight = status === undefined ? right.length === 0 && error === 'CUT' : right.includes(status)
  return { isRight, right }
}
