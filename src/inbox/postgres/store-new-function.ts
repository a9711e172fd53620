import { leaseFunction } from './lease-function.js'

/** How long the last use of a secret may be out of date, in milliseconds of the time that is signed. */
export const LAST_USE_STEP_MS = 60_000

/**
 * SQL for the token of a new entry. A standby that takes over may lack the latest entries, and gives their ids to others. A claim of an
 * entry that was lost must not be valid for the entry that has its id.
 */
export const FIRST_TOKEN = '1 + floor(random() * 1000000000)::integer'

/**
 * The function of the database that stores new callbacks.
 *
 * The parameters that begin with `given_` have one element for each callback. Those that begin with `shared_` have one for each group
 * of them, and `given_shared_at` says which one is that of the callback. With a `suspicion` the callbacks are put in quarantine. A
 * callback that has an element of `given_leases_ms` is claimed for so long, and its handlers begin.
 *
 * `stored_ids` has the ids in the order of the callbacks, with spaces between them, and nothing for one that is not new. The id of one
 * that is claimed is followed by a colon and the token.
 */
export const STORE_NEW_FUNCTION = leaseFunction({
  name: 'store_new',
  parameters: `given_idempotency_keys text[], given_body_ids text[], given_trace_contexts text[], given_headers text[],
    given_order_keys bigint[], given_signed_at bigint[], given_received_at bigint[], given_leases_ms bigint[],
    shared_sources bigint[], shared_subscribed_types text[], shared_callback_urls text[], shared_descriptions text[],
    shared_subscription_ids text[], shared_secret_fingerprints text[], shared_headers text[], shared_event_types text[], shared_types bigint[],
    given_shared_at integer[], given_bodies bytea[], given_key_hashes uuid[], given_body_hashes uuid[], given_signatures uuid[],
    suspicion text`,
  returns: 'one row',
  results: 'stored_ids text',
  declarations: `DECLARE
    earliest_stored bigint;
    stored_sources bigint[];
    latest_signed bigint := (SELECT max(at) FROM unnest(given_signed_at) AS signed (at));
  `,
  body: `
    -- Signatures are written in a fixed order, or two transactions could wait for each other: an attacker can send copies of genuine
    -- callbacks with other keys and in another order, but cannot sign.
    WITH arriving AS MATERIALIZED (
      SELECT nextval('entries_id') AS id, place, given_shared_at[place] AS shared_at, given_leases_ms[place] AS lease_ms,
        ${FIRST_TOKEN} AS token
      FROM generate_series(1, cardinality(given_bodies)) AS places (place)
    ),
    stored AS (
      INSERT INTO entries (
        id, kind, key_hash, body_hash, signature, signed_at, received_at, order_key, source, event_type, idempotency_key, body_id
      )
      SELECT
        id, CASE WHEN suspicion IS NULL THEN 0 ELSE 2 END, given_key_hashes[place], given_body_hashes[place], given_signatures[place],
        given_signed_at[place], given_received_at[place], given_order_keys[place], shared_sources[shared_at],
        shared_event_types[shared_at], given_idempotency_keys[place], given_body_ids[place]
      FROM arriving
      WHERE suspicion IS NOT NULL OR (
        given_signed_at[place] > coalesce((SELECT signed_at FROM deleted), '-9223372036854775808'::bigint)
        -- A known key conflicts. If it is being stored, the insertion waits for that. A subquery and not EXISTS, for which the plan
        -- might read the whole table.
        AND (
          SELECT known.id FROM entries AS known WHERE known.key_hash = given_key_hashes[place] AND known.kind = 0 LIMIT 1
        ) IS NULL
      )
      ORDER BY given_signed_at[place], given_signatures[place]
      ON CONFLICT DO NOTHING RETURNING id
    ),
    -- As a column, for which the plan has a hash table. For a condition or a join it would compare each id with each other one.
    tried AS MATERIALIZED (
      SELECT arriving.*, id IN (SELECT id FROM stored) AS is_stored FROM arriving
    ),
    waiting AS (
      INSERT INTO due (id, type, due_at, due_set_at, order_key, token, ready, state, attempts, begun_by, begun_at)
      SELECT id, shared_types[shared_at], found_at + coalesce(lease_ms, 0), found_at, given_order_keys[place], token,
        given_order_keys[place] IS NULL, CASE WHEN lease_ms IS NULL THEN 'stored' ELSE 'running' END, (lease_ms IS NOT NULL)::integer,
        CASE WHEN lease_ms IS NULL THEN 0 ELSE token END, CASE WHEN lease_ms IS NOT NULL THEN found_at END
      FROM tried WHERE is_stored AND suspicion IS NULL
    ),
    aside AS (
      INSERT INTO ended (id, at, state, reason) SELECT id, given_received_at[place], 'quarantined', suspicion
      FROM tried WHERE is_stored AND suspicion IS NOT NULL
    ),
    content AS (
      INSERT INTO contents (id, trace_context, headers, body)
      SELECT id, given_trace_contexts[place], given_headers[place], given_bodies[place]
      FROM tried WHERE is_stored
    )
    SELECT string_agg(
        CASE WHEN NOT is_stored THEN '' WHEN lease_ms IS NULL THEN id::text ELSE id || ':' || token END, ' ' ORDER BY place
      ),
      min(given_signed_at[place]) FILTER (WHERE is_stored AND suspicion IS NULL),
      array_agg(shared_sources[shared_at]) FILTER (WHERE is_stored)
    INTO stored_ids, earliest_stored, stored_sources FROM tried;

    -- At the end: until its commit, others that store the first callbacks of a source wait for this one. None for a repeat: its
    -- headers are not signed.
    INSERT INTO sources (id, subscribed_type, callback_url, description, subscription_id, secret_fingerprint, headers, last_signed_at)
    SELECT given.*, latest_signed FROM unnest(
      shared_sources, shared_subscribed_types, shared_callback_urls, shared_descriptions, shared_subscription_ids,
      shared_secret_fingerprints, shared_headers
    ) AS given (id, subscribed_type, callback_url, description, subscription_id, secret_fingerprint, headers)
    WHERE given.id = ANY (stored_sources) AND (SELECT sources.id FROM sources WHERE sources.id = given.id) IS NULL ORDER BY given.id ON CONFLICT DO NOTHING;
    -- What is locked is being set by another session.
    UPDATE sources SET last_signed_at = latest_signed WHERE id = ANY (ARRAY(
      SELECT id FROM sources WHERE id = ANY (shared_sources) AND last_signed_at + ${LAST_USE_STEP_MS} < latest_signed
      FOR NO KEY UPDATE SKIP LOCKED
    ));

    -- Since the insertion began, another transaction may have deleted an entry that one of these callbacks repeats. By now that
    -- deletion is recorded. The caller tries again.
    IF EXISTS (SELECT 1 FROM deleted WHERE signed_at >= earliest_stored) THEN
      RAISE EXCEPTION 'entries were deleted meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;`,
})
