import type { EngineFilter } from '../engine.js'
import { storedText } from './sql-text.js'

/** Adds a value to those of a statement. Returns what names it in the SQL. */
export function given(values: unknown[], value: unknown, type: string): string {
  return `$${values.push(value)}::${type}`
}

/** With $1 as `typesWithHandlers` returns it. */
export const SHOWN_STATE =
  "CASE WHEN state IN ('stored', 'retrying') AND type <> ALL ($1::bigint[]) THEN 'unhandled' ELSE state END"

interface Within {
  /** Conditions on an id, given to each of the tables, so that each is read in the order of its primary key. */
  readonly bounds?: readonly string[]
  /** SQL that keeps the planner from joining `due` and `ended` entry by entry. */
  readonly fence?: string
  /** The one of these two tables that has all of the entries. @default either may have them */
  readonly table?: 'due' | 'ended'
}

/**
 * SQL for a table of whole entries, of which few columns are in one place. `where` is a condition on the columns of `entries`, `due`
 * and `ended`. A table of which no column is used is not read.
 */
export function wholeEntries(where: string, { bounds = [], fence = '', table }: Within = {}): string {
  const within = bounds.length === 0 ? '' : `WHERE ${bounds.join(' AND ')}`
  const states = (['due', 'ended'] as const).map((each) => {
    const rows = table === undefined || each === table ? within : 'WHERE false'
    return `LEFT JOIN (SELECT * FROM ${each} ${rows} ${fence}) AS ${each} ON ${each}.id = entries.id`
  })
  const copies = `LEFT JOIN (SELECT * FROM copies ${within}) AS copies ON copies.id = entries.id`
  return `(
  SELECT entries.id, signed_at, received_at, entries.order_key, key_hash, body_hash, signature, kind = 0 AS known, replayed,
    idempotency_key, body_id, coalesce(event_type, subscribed_type) AS event_type, subscribed_type, callback_url, description,
    subscription_id, secret_fingerprint, sources.headers AS common_headers, coalesce(ended.state, due.state) AS state, coalesce(ended.token, due.token) AS token, due.type,
    due.due_at, due.due_set_at, due.ready, coalesce(ended.attempts, due.attempts) AS attempts,
    coalesce(ended.reason, due.reason) AS reason, coalesce(ended.past_attempts, due.past_attempts) AS past_attempts,
    coalesce(ended.begun_at, due.begun_at) AS begun_at,
    coalesce(due.begun_by, 0) AS begun_by, coalesce(due.begun_by = due.token AND due.state = 'running', false) AS is_running,
    CASE WHEN ended.state <> 'quarantined' THEN ended.at END AS finished_at,
    CASE WHEN ended.state = 'handled' THEN ended.at END AS handled_at, coalesce(copies.number, 0) AS copies
  FROM (SELECT * FROM entries ${within}) AS entries LEFT JOIN sources ON sources.id = source ${states.join(' ')} ${copies}
  WHERE kind <> 1 AND ${where}
) AS entries`
}

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
