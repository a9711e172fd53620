import type { CallbackHeaders } from '../callback.js'
import { errorFields, silentLogger, type Logger } from '../logger.js'
import type { Outcome, OutcomeName } from '../outcomes.js'
import type { HeaderValue } from '../signature/index.js'
import { loggedSubscription } from '../subscriptions.js'

const LEVELS = {
  handled: 'info',
  stored: 'info',
  duplicate: 'info',
  unhandled: 'warn',
  quarantined: 'warn',
  refused: 'warn',
  failed: 'error',
  unavailable: 'error',
} as const satisfies Record<OutcomeName, keyof Logger>

/** One line for each callback, with the reason that the sender is not told. */
export function logOutcome(
  logger: Logger,
  result: Outcome,
  headers: CallbackHeaders,
  durationMs: number,
): void {
  if (logger === silentLogger) return
  const { code, outcome, status, reason, callback, error } = result
  const subscription = callback && loggedSubscription(callback.subscription)
  const fields = {
    outcome,
    status,
    code,
    reason,
    verified: callback !== undefined,
    idempotencyKey: callback?.idempotencyKey ?? claimed(headers.idempotencyKey),
    eventType: claimed(callback?.type ?? headers.eventType),
    subscription,
    durationMs: Math.round(durationMs * 1000) / 1000,
    err: error === undefined ? undefined : errorFields(error),
  }
  logger[LEVELS[outcome]](fields, `callback ${outcome}`)
}

// What a stranger wrote: bounded, and in characters that no terminal takes for a command.
function claimed(header: HeaderValue): string | undefined {
  if (typeof header !== 'string') return undefined
  return header.slice(0, 100).replace(/[^\x20-\x7e]/g, '?')
}
