import { leaseFunction } from './lease-function.js'
import { demotion, promotion } from './order-sql.js'
import { LATEST_RESULT, withPastAttempt } from './past-attempts.js'

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
  `,
  body: `
    -- Not as a condition on order_key: the plan could then read the whole index of the order keys.
    SELECT array_agg(DISTINCT order_key) FILTER (WHERE order_key IS NOT NULL) INTO order_keys
      FROM entries WHERE id = ANY (given_ids);
    -- In a fixed order, or two transactions could wait for each other.
    PERFORM pg_advisory_xact_lock(key # order_lock)
      FROM (SELECT key FROM unnest(order_keys) AS given (key) ORDER BY key) AS keys;
    WITH held AS (
      UPDATE entries SET
        state = given.state,
        due_at = found_at + given.delay_ms,
        lease_until = NULL,
        due_set_at = found_at,
        ready = given.delay_ms IS NOT NULL,
        finished_at = CASE WHEN given.delay_ms IS NULL THEN found_at END,
        -- A handled entry does not keep the error of an earlier attempt.
        reason = CASE WHEN given.state = 'handled' THEN NULL ELSE coalesce(given.error, reason) END,
        -- Nothing was tried.
        attempts = attempts - (given.handed_back AND begun_by = entries.token)::integer,
        -- What was interrupted before and is handed back is still to be handled by itself.
        interrupted = given.handed_back AND begun_by > 0,
        begun_by = CASE WHEN given.handed_back THEN begun_by ELSE 0 END,
        -- One that succeeds stays the latest, which changes the least.
        past_attempts = CASE
          WHEN begun_at IS NULL OR (given.state = 'handled' AND begun_by = entries.token) THEN past_attempts
          WHEN begun_by = entries.token THEN ${withPastAttempt('given.result', 'found_at', 'given.code', 'given.error')}
          ELSE ${withPastAttempt(LATEST_RESULT, 'handled_at')}
        END,
        begun_at = CASE WHEN given.state = 'handled' AND begun_by = entries.token THEN begun_at END,
        handled_at = CASE WHEN given.state = 'handled' AND begun_by = entries.token THEN found_at END
      FROM unnest(
        given_ids, given_tokens, given_states, given_delays, given_errors, given_handed_back, given_results, given_codes
      ) AS given (id, token, state, delay_ms, error, handed_back, result, code)
      -- By the list as well: see heldBy.
      WHERE entries.id = ANY (given_ids) AND entries.id = given.id
        AND entries.token = given.token AND lease_until IS NOT NULL
      RETURNING entries.id, due_at
    )
    SELECT coalesce(string_agg(id::text, ' '), ''), coalesce(bool_or(due_at <= found_at), false)
      INTO held_ids, is_any_due FROM held;
    IF order_keys IS NOT NULL THEN
      ${demotion('order_keys')};
      ${promotion('order_keys')};
      is_any_due := is_any_due OR FOUND;
    END IF;`,
})
