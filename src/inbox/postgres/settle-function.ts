import { heldBy, leaseFunction } from './lease-function.js'
import { demotion, promotion } from './order-sql.js'
import { withPastAttempt } from './past-attempts.js'

const HELD = heldBy('given_ids', 'given_tokens')
const PLACE = 'array_position(given_ids, id)'
const SUCCEEDED = "given_states[place] = 'handled' AND begun_by = token"
/** An attempt of an earlier claim, whose end nobody has recorded, was interrupted. */
const WITH_LATEST = `CASE WHEN begun_at IS NULL THEN past_attempts
          WHEN begun_by = token THEN ${withPastAttempt('given_results[place]', 'found_at', 'given_codes[place]', 'given_errors[place]')}
          ELSE ${withPastAttempt("'interrupted'")} END`

/**
 * The function of the database that ends claims. It returns the ids of those that were held, and whether another entry is due
 * now. `order_lock` distinguishes the locks of order keys of this schema from all other locks.
 */
export const SETTLE_FUNCTION = leaseFunction({
  name: 'settle_entries',
  parameters: `given_ids bigint[], given_tokens integer[], given_states text[], given_delays bigint[], given_errors text[],
    given_handed_back boolean[], given_results text[], given_codes text[], order_lock bigint`,
  returns: 'one row',
  results: 'held_ids text, is_any_due boolean',
  declarations: `DECLARE
    order_keys bigint[];
    is_any_rescheduled boolean := (SELECT count(delay) > 0 FROM unnest(given_delays) AS given (delay));
  `,
  body: `
    -- Not as a condition on order_key: the plan could then read the whole index of the order keys.
    SELECT array_agg(DISTINCT order_key) FILTER (WHERE order_key IS NOT NULL) INTO order_keys
      FROM due WHERE id = ANY (given_ids);
    -- In a fixed order, or two transactions could wait for each other.
    PERFORM pg_advisory_xact_lock(key # order_lock)
      FROM (SELECT key FROM unnest(order_keys) AS given (key) ORDER BY key) AS keys;
    WITH finished AS (
      DELETE FROM due WHERE ${HELD} AND given_delays[${PLACE}] IS NULL RETURNING *, ${PLACE} AS place
    ),
    kept AS (
      INSERT INTO ended (id, at, begun_at, token, attempts, state, reason, past_attempts)
      SELECT id, found_at, CASE WHEN ${SUCCEEDED} THEN begun_at END, token, attempts, given_states[place],
        -- A handled entry does not keep the error of an earlier attempt.
        CASE WHEN given_states[place] <> 'handled' THEN coalesce(given_errors[place], reason) END,
        -- One that succeeds stays the latest, which changes the least.
        CASE WHEN ${SUCCEEDED} THEN past_attempts ELSE ${WITH_LATEST} END
      FROM finished
    ),
    rescheduled AS (
      UPDATE due SET state = given_states[${PLACE}], due_at = found_at + given_delays[${PLACE}], due_set_at = found_at,
        reason = coalesce(given_errors[${PLACE}], reason),
        -- Nothing was tried.
        attempts = attempts - (given_handed_back[${PLACE}] AND begun_by = token)::integer,
        -- What was interrupted before and is handed back is still to be handled by itself.
        begun_by = CASE WHEN given_handed_back[${PLACE}] THEN begun_by ELSE 0 END,
        past_attempts = ${WITH_LATEST.replaceAll('[place]', `[${PLACE}]`)},
        begun_at = NULL
      WHERE is_any_rescheduled AND ${HELD} AND given_delays[${PLACE}] IS NOT NULL RETURNING id, due_at
    ),
    held AS (
      SELECT id, NULL AS due_at FROM finished UNION ALL SELECT id, due_at FROM rescheduled
    )
    SELECT coalesce(string_agg(id::text, ' '), ''), coalesce(bool_or(due_at <= found_at), false)
      INTO held_ids, is_any_due FROM held;
    IF order_keys IS NOT NULL THEN
      ${demotion('order_keys')};
      ${promotion('order_keys')};
      is_any_due := is_any_due OR FOUND;
    END IF;`,
})
