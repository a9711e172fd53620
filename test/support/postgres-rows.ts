import { textKey } from '../../src/inbox/postgres/text-key.js'

interface Rows {
  /** SQL for each of them; `n` is its number, from 1. @default 'handled' */
  readonly state?: string
  /** Also the time at which it ended or is due. @default n */
  readonly at?: string
  readonly type?: string
  readonly orderKey?: string
}

/** SQL that writes many entries at once: to add them would take minutes. */
export function manyEntries(
  schema: string,
  count: number,
  { state = "'handled'", at = 'n', type = "'transfers.book-completed'", orderKey = 'NULL' }: Rows = {},
): string {
  const numbers = `FROM (SELECT n, ${state} AS state, ${type} AS event_type FROM generate_series(1, ${count}) AS numbers (n)) AS given`
  return `
    INSERT INTO ${schema}.sources VALUES (1, 'transfers.book-completed', 'https://partner.example.com/', NULL, NULL, '', 1);
    INSERT INTO ${schema}.entries (id, kind, source, event_type, idempotency_key, key_hash, body_hash, signature, signed_at,
      received_at, order_key)
    SELECT n, 0, 1, event_type, n::text, md5('k' || n)::uuid, md5('b' || n)::uuid, md5('s' || n)::uuid, n, n, ${orderKey} ${numbers};
    INSERT INTO ${schema}.due (id, type, due_at, due_set_at, order_key, ready)
    SELECT n, CASE event_type ${TYPES.map((each) => `WHEN '${each}' THEN ${textKey(each)}`).join(' ')} END, ${at}, ${at}, ${orderKey}, true
    ${numbers} WHERE state = 'stored';
    INSERT INTO ${schema}.ended (id, at, state, reason) SELECT n, ${at}, state, 'no answer' ${numbers} WHERE state <> 'stored';
    INSERT INTO ${schema}.contents (id, body) SELECT n, '' ${numbers};
    ANALYZE ${schema}.entries, ${schema}.due, ${schema}.ended, ${schema}.contents;
    SELECT setval('${schema}.entries_id', ${count})`
}

const TYPES = ['transfers.book-completed', 'usual', 'rare']
