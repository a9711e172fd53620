import { ATTEMPTS_KEPT } from '../attempt-history.js'

/**
 * SQL for `past_attempts` with one more: the attempt that began at `begun_at`. The arguments are SQL. In an UPDATE, it uses the
 * values from before.
 */
export function withPastAttempt(result: string, endedAt = 'NULL', code = 'NULL', error = 'NULL'): string {
  const kept = `CASE WHEN json_array_length(past_attempts) >= ${ATTEMPTS_KEPT}
    THEN json_remove(past_attempts, '$[0]') ELSE ifnull(past_attempts, '[]') END`
  return `json_insert(${kept}, '$[#]', json_array(attempts, begun_at, ${endedAt}, ${result}, ${code}, ${error}))`
}
