import { leaseFunction } from './lease-function.js'

/** The types of unfinished entries, found by an index and not by reading it whole. */
const PRESENT_TYPES = `WITH RECURSIVE ${presentTypes('waiting', 'begun_by = 0')}, ${presentTypes('begun', 'begun_by > 0')}
        SELECT type FROM waiting WHERE type IS NOT NULL UNION SELECT type FROM begun WHERE type IS NOT NULL`

function presentTypes(name: string, begun: string): string {
  return `${name} (type) AS (
          SELECT min(type) FROM due WHERE ready AND ${begun}
          UNION ALL
          SELECT (SELECT min(type) FROM due WHERE ready AND ${begun} AND type > ${name}.type) FROM ${name}
          WHERE ${name}.type IS NOT NULL
        )`
}

// Entries are looked up by type in an index, so that a backlog of other types costs nothing.
const TYPES = 'unnest(given_types) AS types (type)'

function taking(begun: string): string {
  return `      SELECT array_agg(id ORDER BY due_at, id) INTO taken FROM (
        SELECT found.id, found.due_at FROM ${TYPES} CROSS JOIN LATERAL (
          SELECT id, due_at FROM due
          WHERE ready AND ${begun} AND type = types.type AND due_at <= found_at
          ORDER BY due_at, id LIMIT claim_limit FOR UPDATE SKIP LOCKED
        ) AS found
        ORDER BY due_at, id LIMIT claim_limit
      ) AS first;`
}

function nextDue(begun: string): string {
  return `SELECT first.due_at, first.due_set_at > found_at INTO next_due_at, next_is_ahead FROM ${TYPES} CROSS JOIN LATERAL (
          SELECT due_at, due_set_at FROM due WHERE ready AND ${begun} AND type = types.type ORDER BY due_at, id LIMIT 1
        ) AS first ORDER BY first.due_at LIMIT 1;`
}

function existsInterrupted(lock: string): string {
  return `EXISTS (
      SELECT 1 FROM ${TYPES} CROSS JOIN LATERAL (
        SELECT 1 FROM due WHERE ready AND begun_by > 0 AND type = types.type AND due_at >= interrupted_from AND due_at <= found_at
        ORDER BY due_at, id LIMIT 1 ${lock}
      ) AS found
    )`
}

/**
 * The function of the database that claims entries. It returns a row for each entry in the order of their due times, and then one
 * without an entry that says what is due next: `next_due_at` only if fewer entries were claimed than asked for, and whether its time
 * was set by a clock that was ahead of the present one. Whether an interrupted entry is due is looked up among those that have been due
 * since `interrupted_from`; NULL: those that are due are locked. A body is in Base64, because with the hexadecimal digits of the driver
 * an entry takes 3 percent more processor time of worker and server together.
 */
export const CLAIM_FUNCTION = leaseFunction({
  name: 'claim_entries',
  parameters:
    'given_types bigint[], claim_limit integer, lease_ms bigint, wants_interrupted boolean, begin_below integer, interrupted_from bigint',
  returns: 'rows',
  results: `next_due_at bigint, next_is_ahead boolean, interrupted_is_due boolean,
    id bigint, token integer, attempts integer, begun boolean, replayed boolean, secret_fingerprint text, body text,
    trace_context text, event_type text, idempotency_key text, signed_at bigint, received_at bigint, subscribed_type text,
    callback_url text, description text, subscription_id text`,
  declarations: `DECLARE
    taken bigint[];
  `,
  body: `
    IF given_types IS NULL THEN
      given_types := ARRAY(${PRESENT_TYPES});
    END IF;
    IF wants_interrupted THEN
${taking('begun_by > 0')}
    ELSE
${taking('begun_by = 0')}
    END IF;
    IF taken IS NOT NULL THEN
      RETURN QUERY WITH claimed AS (
        UPDATE due SET state = 'running', due_at = found_at + lease_ms, due_set_at = found_at, token = token + 1,
          attempts = attempts + (attempts < begin_below)::integer,
          begun_by = CASE WHEN attempts < begin_below THEN token + 1 ELSE begun_by END,
          begun_at = CASE WHEN attempts < begin_below THEN found_at ELSE begun_at END
        WHERE id = ANY (taken) RETURNING id, token, attempts, begun_by = token AS begun
      )
      SELECT NULL::integer, NULL::integer, NULL::bigint, NULL::bigint, NULL::boolean, NULL::boolean,
        claimed.id, token, attempts, begun, replayed, secret_fingerprint, encode(body, 'base64'),
        trace_context, coalesce(event_type, subscribed_type), idempotency_key, signed_at, received_at, subscribed_type,
        callback_url, description, subscription_id
      -- LATERAL with a limit: each is looked up by its id, also with a plan for an empty table.
      FROM claimed CROSS JOIN LATERAL (SELECT * FROM entries WHERE entries.id = claimed.id LIMIT 1) AS entry
        CROSS JOIN LATERAL (SELECT * FROM sources WHERE sources.id = entry.source LIMIT 1) AS source
        LEFT JOIN LATERAL (SELECT * FROM contents WHERE contents.id = claimed.id LIMIT 1) AS content ON true
      ORDER BY array_position(taken, claimed.id);
    END IF;
    IF coalesce(cardinality(taken), 0) < claim_limit THEN
      IF wants_interrupted THEN ${nextDue('begun_by > 0')} ELSE ${nextDue('begun_by = 0')} END IF;
    END IF;
    interrupted_is_due := ${existsInterrupted('')};
    -- One that somebody has locked cannot be claimed: the others must not wait for it.
    IF interrupted_is_due AND NOT ${existsInterrupted('FOR UPDATE SKIP LOCKED')} THEN
      interrupted_is_due := NULL;
    END IF;
    RETURN NEXT;`,
})
