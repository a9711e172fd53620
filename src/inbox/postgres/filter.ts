import type { EngineFilter } from '../engine.js'
import { storedText } from './sql-text.js'

/** Adds a value to those of a statement. Returns what names it in the SQL. */
export function given(values: unknown[], value: unknown, type: string): string {
  return `$${values.push(value)}::${type}`
}

/** With $1 as `typesWithHandlers` returns it. */
export const SHOWN_STATE =
  "CASE WHEN state IN ('stored', 'retrying') AND event_type <> ALL ($1::text[]) THEN 'unhandled' ELSE state END"

/** SQL for each condition of a filter. The first of the values is that of `SHOWN_STATE`. */
export function conditionsOf(filter: EngineFilter, values: unknown[]): string[] {
  const { states, eventType, idempotencyKey, bodyId, subscriptionId, reason, before, after } = filter
  const conditions: string[] = []
  const text = (value: string) => given(values, storedText(value), 'text')
  if (states) conditions.push(`${SHOWN_STATE} = ANY (${given(values, states, 'text[]')})`)
  if (eventType !== undefined) conditions.push(`event_type = ${text(eventType)}`)
  if (idempotencyKey !== undefined) conditions.push(`idempotency_key = ${text(idempotencyKey)}`)
  if (bodyId !== undefined) conditions.push(`body_id = ${text(bodyId)}`)
  if (subscriptionId !== undefined)
    conditions.push(
      `coalesce(subscription_id, subscribed_type || ' ' || callback_url) = ${text(subscriptionId)}`,
    )
  // With this collation, lower() changes only A to Z.
  if (reason !== undefined)
    conditions.push(`position(lower(${text(reason)} COLLATE "C") IN lower(reason COLLATE "C")) > 0`)
  if (before !== undefined) conditions.push(`received_at < ${given(values, before, 'float8')}`)
  if (after !== undefined) conditions.push(`received_at > ${given(values, after, 'float8')}`)
  return conditions
}
