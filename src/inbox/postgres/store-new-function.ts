/**
 * The function of the database that stores new callbacks: one call is one round trip, one plan that the session keeps, and one
 * commit. A prepared statement would do the same, but not behind PgBouncer in transaction mode.
 *
 * The parameters that begin with `given_` have one element for each callback, except these. `given_shared_at` says which element
 * of `given_event_types` and the five parameters after it is that of the callback. `given_identities` has 48 bytes for each.
 *
 * `stored_ids` has the ids in the order of the callbacks, with spaces between them, and nothing for one that is not new. It is
 * NULL if nothing was tried: the code is too old for the schema, or the session has another isolation level than the function
 * needs.
 */
export const STORE_NEW_FUNCTION = `
  CREATE FUNCTION store_new(
    given_idempotency_keys text[], given_body_ids text[], given_trace_contexts text[], given_headers text[],
    given_order_keys bigint[], given_signed_at bigint[], given_received_at bigint[],
    given_event_types text[], given_subscribed_types text[], given_callback_urls text[], given_descriptions text[],
    given_subscription_ids text[], given_secret_fingerprints text[], given_shared_at integer[],
    given_bodies bytea[], given_identities bytea,
    code_version integer, lock_timeout_ms integer,
    OUT found_version integer, OUT found_compatible_from integer, OUT stored_ids text
  )
  LANGUAGE plpgsql VOLATILE
  SET search_path FROM CURRENT
  -- The plan does not depend on the callbacks.
  SET plan_cache_mode = force_generic_plan
  AS $store_new$
  DECLARE
    now_at bigint;
    earliest_stored bigint;
    incomplete integer[];
  BEGIN
    PERFORM set_config('lock_timeout', lock_timeout_ms::text, true),
      CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END;
    SELECT version, compatible_from INTO found_version, found_compatible_from FROM schema_version;
    -- With another isolation level, the last check would not see what was deleted meanwhile.
    IF found_version IS NULL OR found_compatible_from > code_version
      OR current_setting('transaction_isolation') <> 'read committed' THEN
      RETURN;
    END IF;
    now_at := now_ms();

    -- Keys and signatures are written in a fixed order, or two transactions could wait for each other. Of two callbacks with the
    -- same key or signature, the earlier one has the smaller id.
    WITH arriving AS MATERIALIZED (
      SELECT nextval('entries_id') AS id, place, given_signed_at[place] AS signed_at,
        substring(given_identities FROM 48 * place - 47 FOR 16) AS key_hash,
        substring(given_identities FROM 48 * place - 15 FOR 16) AS signature
      FROM generate_series(1, cardinality(given_bodies)) AS places (place)
    ),
    signed AS (
      INSERT INTO signatures (signed_at, signature, entry_id, repeated)
      SELECT signed_at, signature, id, false FROM arriving
      WHERE signed_at > coalesce((SELECT signed_at FROM deleted), '-9223372036854775808'::bigint)
        -- A known key conflicts. Where a handler's transaction has changed its entry, the insertion would wait for the end of that. A
        -- subquery and not EXISTS, for which the plan might read the whole table.
        AND (
          SELECT known.id FROM entries AS known
          WHERE known.key_hash = arriving.key_hash AND nullif(known.known, false) LIMIT 1
        ) IS NULL
      ORDER BY signed_at, signature, id
      ON CONFLICT DO NOTHING RETURNING entry_id
    ),
    stored AS (
      INSERT INTO entries (
        id, state, known, due_at, due_set_at, ready, key_hash, body_hash, signature, signed_at, received_at, order_key,
        idempotency_key, body_id, event_type, subscribed_type, callback_url, description,
        subscription_id, secret_fingerprint
      )
      SELECT
        id, 'stored', true, now_at, now_at, given_order_keys[place] IS NULL, key_hash,
        substring(given_identities FROM 48 * place - 31 FOR 16), signature, signed_at, given_received_at[place],
        given_order_keys[place], given_idempotency_keys[place], given_body_ids[place],
        given_event_types[given_shared_at[place]], given_subscribed_types[given_shared_at[place]],
        given_callback_urls[given_shared_at[place]], given_descriptions[given_shared_at[place]],
        given_subscription_ids[given_shared_at[place]], given_secret_fingerprints[given_shared_at[place]]
      FROM arriving WHERE id IN (SELECT entry_id FROM signed) ORDER BY key_hash, id
      ON CONFLICT DO NOTHING RETURNING id
    ),
    content AS (
      INSERT INTO contents (id, trace_context, headers, body)
      SELECT id, given_trace_contexts[place], given_headers[place], given_bodies[place]
      FROM arriving WHERE id IN (SELECT id FROM stored)
    )
    SELECT string_agg(coalesce(stored.id::text, ''), ' ' ORDER BY place),
      min(signed_at) FILTER (WHERE stored.id IS NOT NULL),
      array_agg(place) FILTER (WHERE stored.id IS NULL AND entry_id IS NOT NULL)
    INTO stored_ids, earliest_stored, incomplete
    FROM arriving LEFT JOIN signed ON signed.entry_id = arriving.id LEFT JOIN stored ON stored.id = arriving.id;

    -- Their signatures were stored before their keys were found to be known.
    IF incomplete IS NOT NULL THEN
      DELETE FROM signatures USING unnest(incomplete) AS places (place)
      WHERE signed_at = given_signed_at[place]
        AND signature = substring(given_identities FROM 48 * place - 15 FOR 16);
    END IF;

    -- Since the insertion began, another transaction may have deleted an entry that one of these callbacks repeats. By now that
    -- deletion is recorded. The caller tries again.
    IF EXISTS (SELECT 1 FROM deleted WHERE signed_at >= earliest_stored) THEN
      RAISE EXCEPTION 'entries were deleted meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
  END
  $store_new$;
`
