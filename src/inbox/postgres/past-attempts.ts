import { ATTEMPTS_KEPT } from '../attempt-history.js'

/**
 * SQL for `past_attempts` with one more: the attempt that began at `begun_at`. The arguments are SQL. In an UPDATE, it uses the
 * values from before.
 */
export function withPastAttempt(
  result: string,
  endedAt = 'NULL::bigint',
  code = 'NULL::text',
  error = 'NULL::text',
): string {
  const kept = `CASE WHEN jsonb_array_length(past_attempts) >= ${ATTEMPTS_KEPT}
    THEN past_attempts - 0 ELSE coalesce(past_attempts, '[]'::jsonb) END`
  const attempt = `attempts, begun_at, ${endedAt}, ${result}, ${code}, ${error}`
  return `(${kept}) || jsonb_build_array(jsonb_build_array(${attempt}))`
}
