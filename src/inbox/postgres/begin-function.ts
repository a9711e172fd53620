import { heldBy, leaseFunction } from './lease-function.js'
import { withPastAttempt } from './past-attempts.js'

/** The function of the database that records that handlers begin. It returns the ids of the claims that are held. */
export const BEGIN_FUNCTION = leaseFunction({
  name: 'begin_entries',
  parameters: 'given_ids bigint[], given_tokens integer[], lease_ms bigint',
  returns: 'one row',
  results: 'held_ids text',
  body: `
    -- A claim counts as one attempt, also if this is called twice for it.
    WITH held AS (
      UPDATE due SET due_at = found_at + lease_ms, due_set_at = found_at,
        attempts = attempts + (begun_by <> token)::integer, begun_by = token,
        past_attempts = CASE WHEN begun_by <> token AND begun_at IS NOT NULL
          THEN ${withPastAttempt("'interrupted'")} ELSE past_attempts END,
        begun_at = CASE WHEN begun_by = token THEN begun_at ELSE found_at END
      WHERE ${heldBy('given_ids', 'given_tokens')} RETURNING id
    )
    SELECT coalesce(string_agg(id::text, ' '), '') INTO held_ids FROM held;`,
})
