import { leaseFunction } from './lease-function.js'

/**
 * The function of the database that claims entries. It returns a row for each entry, and then one without an entry that says what
 * is due next: `next_due_at` only if fewer entries were claimed than asked for. A body is in Base64, because with the
 * hexadecimal digits of the driver an entry takes 3 percent more processor time of worker and server together.
 */
export const CLAIM_FUNCTION = leaseFunction({
  name: 'claim_entries',
  parameters: 'given_types text[], claim_limit integer, lease_ms bigint, wants_interrupted boolean',
  returns: 'rows',
  results: `next_due_at bigint, interrupted_is_due boolean,
    id bigint, token integer, attempts integer, replayed boolean, was_due_at bigint, secret_fingerprint text, body text,
    trace_context text, event_type text, idempotency_key text, signed_at bigint, received_at bigint, subscribed_type text,
    callback_url text, description text, subscription_id text`,
  declarations: `DECLARE
    claimed integer;
    expired bigint[];
    next_lease bigint;
  `,
  body: `
    -- Once for all that follows: while another session holds a snapshot, the index has a dead row for each claim since then.
    SELECT array_agg(id) FILTER (WHERE lease_until <= found_at),
        min(lease_until) FILTER (WHERE lease_until > found_at AND (begun_by > 0) = wants_interrupted)
      INTO expired, next_lease FROM entries
      WHERE state = 'running' AND (given_types IS NULL OR event_type = ANY (given_types));
    IF wants_interrupted THEN
${claiming(selection('interrupted', 'begun_by > 0'))}
    ELSE
${claiming(selection('NOT interrupted', 'begun_by = 0'))}
    END IF;
    interrupted_is_due := EXISTS (
      SELECT 1 FROM entries WHERE ready AND state IN ('stored', 'retrying') AND interrupted AND due_at <= found_at
        AND (given_types IS NULL OR event_type = ANY (given_types))
    ) OR EXISTS (
      SELECT 1 FROM (
        -- One that somebody has locked cannot be claimed: the others must not wait for it.
        SELECT 1 FROM entries WHERE id = ANY (expired) AND begun_by > 0 AND lease_until <= found_at
        LIMIT 1 FOR UPDATE SKIP LOCKED
      ) AS free
    );
    RETURN NEXT;`,
})

interface Selection {
  readonly waiting: string
  readonly running: string
  readonly types: string
}

/**
 * The conditions of entries, either of interrupted ones or of all others. Entries that wait are looked up by type in an index, so
 * that a backlog of other types costs nothing. Entries that run are few: those whose leases have ended were found before.
 */
function selection(waits: string, runs: string): Selection {
  const waiting = `ready AND state IN ('stored', 'retrying') AND ${waits}`
  const running = `id = ANY (expired) AND ${runs}`
  const types = `
      WITH RECURSIVE present (type) AS (
        SELECT min(event_type) FROM entries WHERE ${waiting} AND given_types IS NULL
        UNION ALL
        SELECT (SELECT min(event_type) FROM entries WHERE ${waiting} AND event_type > present.type)
        FROM present WHERE present.type IS NOT NULL
      ),
      types (type) AS (
        SELECT type FROM present WHERE type IS NOT NULL UNION ALL SELECT DISTINCT unnest(given_types)
      )`
  return { waiting, running, types }
}

function claiming({ waiting, running, types }: Selection): string {
  return `      RETURN QUERY ${types},
      waiting AS MATERIALIZED (
        SELECT due.id, due.due_at FROM types CROSS JOIN LATERAL (
          SELECT id, due_at FROM entries
          WHERE ${waiting} AND event_type = types.type AND due_at <= found_at
          ORDER BY due_at, id LIMIT claim_limit FOR UPDATE SKIP LOCKED
        ) AS due
      ),
      running AS MATERIALIZED (
        SELECT id, lease_until AS due_at FROM entries WHERE ${running} AND lease_until <= found_at
        ORDER BY lease_until, id LIMIT claim_limit FOR UPDATE SKIP LOCKED
      ),
      taken AS MATERIALIZED (
        SELECT id, due_at FROM (SELECT * FROM waiting UNION ALL SELECT * FROM running) AS due
        ORDER BY due_at, id LIMIT claim_limit
      ),
      claimed AS (
        UPDATE entries SET
          state = 'running', due_at = NULL, lease_until = found_at + lease_ms, due_set_at = found_at, token = token + 1
        FROM taken WHERE entries.id = taken.id
        RETURNING entries.*, taken.due_at AS was_due_at
      )
      SELECT NULL::integer, NULL::integer, NULL::bigint, NULL::bigint, NULL::boolean,
        claimed.id, token, attempts, replayed, was_due_at, secret_fingerprint, encode(body, 'base64'),
        trace_context, event_type, idempotency_key, signed_at, received_at, subscribed_type,
        callback_url, description, subscription_id
      -- LATERAL with a limit: each is looked up by its id, also with a plan for an empty table.
      FROM claimed LEFT JOIN LATERAL (SELECT * FROM contents WHERE contents.id = claimed.id LIMIT 1) AS content ON true;
      GET DIAGNOSTICS claimed = ROW_COUNT;
      IF claimed < claim_limit THEN
        next_due_at := (${types}
          SELECT least(
            (SELECT min(due.due_at) FROM types CROSS JOIN LATERAL (
              SELECT due_at FROM entries WHERE ${waiting} AND event_type = types.type ORDER BY due_at, id LIMIT 1
            ) AS due),
            (SELECT min(lease_until) FROM entries WHERE ${running}),
            next_lease,
            CASE WHEN claimed > 0 THEN found_at + lease_ms END
          )
        );
      END IF;`
}
