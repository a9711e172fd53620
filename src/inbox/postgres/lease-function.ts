/** A function of the database for workers. All of them begin with the same checks. */
interface LeaseFunction {
  readonly name: string
  readonly parameters: string
  /** What it returns in addition to `FOUND`. */
  readonly results: string
  readonly returns: 'one row' | 'rows'
  readonly declarations?: string
  /** Statements of PL/pgSQL. A name that a column has as well is that of the column. */
  readonly body: string
}

/**
 * SQL that creates a function which is one round trip and one commit, and whose plans the session keeps: without these
 * functions an entry took 1.4 times the processor time of worker and server together. It returns no `found_at` if it did
 * nothing: the code is too old for the schema, or the session has another isolation level than the function needs, in which
 * it would not see what others have committed.
 */
export function leaseFunction({
  name,
  parameters,
  results,
  returns,
  declarations = '',
  body,
}: LeaseFunction): string {
  const [outputs, end] = returns === 'rows' ? ['', 'RETURN NEXT; RETURN;'] : [`, ${outs(results)}`, 'RETURN;']
  const table = returns === 'rows' ? `\n  RETURNS TABLE (${FOUND}, ${results})` : ''
  return `
  CREATE FUNCTION ${name}(
    ${parameters},
    code_version integer, lock_timeout_ms integer${outputs}
  )${table}
  LANGUAGE plpgsql VOLATILE
  SET search_path FROM CURRENT
  -- The plans are made when the tables may still be empty, and are kept: they must not read whole tables.
  SET plan_cache_mode = force_generic_plan
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET jit = off
  AS $lease_function$
  #variable_conflict use_column
  ${declarations}BEGIN
    PERFORM set_config('lock_timeout', lock_timeout_ms::text, true),
      CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END;
    SELECT version, compatible_from INTO found_version, found_compatible_from FROM schema_version WHERE only_row = 1;
    IF found_version IS NULL OR found_compatible_from > code_version
      OR current_setting('transaction_isolation') <> 'read committed' THEN
      ${end}
    END IF;
    found_at := now_ms();
${body}
  END
  $lease_function$;
`
}

const FOUND = 'found_version integer, found_compatible_from integer, found_at bigint'

function outs(results: string): string {
  return `${FOUND}, ${results}`
    .split(', ')
    .map((result) => `OUT ${result}`)
    .join(', ')
}

/**
 * SQL for the condition that a row of `due` is held by one of these claims. The plan must look up each entry by its id, also if it was
 * made when the table was empty. For a join with the list of claims it may read the whole primary key.
 */
export function heldBy(ids: string, tokens: string): string {
  return `id = ANY (${ids}) AND state = 'running' AND token = (${tokens})[array_position(${ids}, id)]`
}
