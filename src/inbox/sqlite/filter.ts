import { keyHashRange } from '../identity.js'
import type { EngineFilter } from '../engine.js'
import type { SqliteValue } from './driver.js'
import { packUuid } from './packed-uuid.js'

/** SQL with its values. */
export type Condition = readonly [sql: string, ...values: SqliteValue[]]

/** `unhandled`: the types that no worker has a handler for. */
export function conditionsOf(
  { states, eventType, idempotencyKey, bodyId, subscriptionId, reason, before, after }: EngineFilter,
  unhandled: ReadonlySet<string>,
): Condition[] {
  const conditions: Condition[] = []
  if (states) {
    const isUnhandled = `(state IN ('stored', 'retrying') AND event_type IN (SELECT value FROM json_each(?)))`
    const chosen = `state IN (${states.map(() => '?').join(', ')})`
    const types = JSON.stringify([...unhandled])
    conditions.push(
      states.includes('unhandled')
        ? [`(${chosen} OR ${isUnhandled})`, ...states, types]
        : [`${chosen} AND NOT ${isUnhandled}`, ...states, types],
    )
  }
  if (eventType !== undefined) conditions.push(['event_type = ?', eventType])
  if (idempotencyKey !== undefined) {
    conditions.push(['key_hash BETWEEN ? AND ?', ...keyHashRange(idempotencyKey)])
    conditions.push(['idempotency_key = ?', packUuid(idempotencyKey)])
  }
  if (bodyId !== undefined) conditions.push(['body_id = ?', packUuid(bodyId)])
  if (subscriptionId !== undefined) conditions.push([OF_SUBSCRIPTION, subscriptionId])
  if (reason !== undefined) conditions.push(['instr(lower(reason), lower(?)) > 0', reason])
  if (before !== undefined) conditions.push(['received_at < ?', before])
  if (after !== undefined) conditions.push(['received_at > ?', after])
  return conditions
}

const OF_SUBSCRIPTION = `source IN (
  SELECT number FROM sources WHERE ifnull(subscription_id, subscribed_type || ' ' || callback_url) = ?
)`

/** Selects by the index on the Ids of bodies, which is divided into groups of ids. */
export const HAS_BODY_ID = `id IN (
  WITH RECURSIVE groups (number) AS (
    SELECT min(id) >> 10 FROM entries
    UNION ALL SELECT number + 1 FROM groups WHERE number < (SELECT max(id) >> 10 FROM entries)
  )
  SELECT found.id FROM groups CROSS JOIN entries AS found INDEXED BY entries_by_body_id
  WHERE found.id >> 10 = groups.number AND found.body_id IS NOT NULL AND found.body_id = ?
)`

export function joined(conditions: readonly Condition[]): { where: string; values: SqliteValue[] } {
  return {
    where: conditions.map(([sql]) => sql).join(' AND ') || 'true',
    values: conditions.flatMap(([, ...values]) => values),
  }
}
