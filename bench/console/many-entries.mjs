// Inboxes with very many entries, written by SQL because one by one they would take minutes.
import { hash } from 'node:crypto'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'

const WEEK_MS = 7 * 24 * 3_600_000
const CALLBACK_URL = 'https://partner.example.com/hooks/transfers'
const BODY = JSON.stringify({ Id: '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed', note: 'x'.repeat(240) })
const HEADERS = JSON.stringify({ pairs: [['User-Agent', 'x'.repeat(400)]], isCut: false })

/** The SQL for the state of entry `n`, and for its event type. */
export const MIXES = {
  'nearly all handled': {
    state: (count) => `CASE WHEN n > ${count - 2_000} THEN 'stored' WHEN n % 500 = 0 THEN 'dead'
      WHEN n % 500 = 1 THEN 'quarantined' WHEN n % 500 = 2 THEN 'discarded' ELSE 'handled' END`,
    type: "CASE n % 4 WHEN 0 THEN 'transfers.book-completed' WHEN 1 THEN 'accounts.closed' ELSE 'cards.issued' END",
  },
  // 300,000 of a million are dead letters that arrived beside each other. Few entries have the rare type.
  'after an outage': {
    state: (count) => `CASE WHEN n > ${count - 2_000} THEN 'stored'
      WHEN n % 10 < 6 AND n > ${count * 0.3} AND n <= ${count * 0.8} THEN 'dead' ELSE 'handled' END`,
    type: "CASE WHEN n % 50000 = 3 THEN 'accounts.closed' ELSE 'transfers.book-completed' END",
  },
  'all unhandled': { state: () => "'stored'", type: "'transfers.without-handler'" },
  'all dead': { state: () => "'dead'", type: "'transfers.book-completed'" },
}
const HANDLED_TYPES = ['transfers.book-completed', 'accounts.closed', 'cards.issued']
const TYPES = [...HANDLED_TYPES, 'transfers.without-handler']

export function fillSqlite(file, count, mix) {
  const { state, type } = MIXES[mix]
  const { start, step } = times(count)
  const database = new DatabaseSync(file)
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000')
  database
    .prepare(
      'INSERT INTO sources (number, subscribed_type, callback_url, secret_fingerprint) VALUES (1, ?, ?, ?)',
    )
    .run(HANDLED_TYPES[0], CALLBACK_URL, 'abcdef')
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count}),
    stated AS (SELECT n, ${state(count)} AS state, ${type} AS type, ${start} + CAST(n * ${step} AS INTEGER) AS at FROM numbers)
    INSERT INTO entries (id, state, known, event_type, idempotency_key, key_hash, body_hash, signature, due_at, due_set_at, ready,
      signed_at, received_at, finished_at, source, body, body_id, headers, attempts, reason)
    SELECT n, state, state <> 'quarantined', type, printf('%036d', n), randomblob(16), x'00', randomblob(16),
      iif(state = 'stored', at, NULL), at, state = 'stored', at, at,
      iif(state IN ('handled', 'dead', 'discarded'), at, NULL), 1, CAST('${BODY}' AS BLOB), printf('%036d', n), '${HEADERS}',
      state <> 'stored', iif(state IN ('dead', 'quarantined'), 'ERR_HANDLER_FAILED: the ledger did not answer', NULL)
    FROM stated`)
  for (const each of HANDLED_TYPES)
    database.prepare('INSERT OR REPLACE INTO handled_types VALUES (?, ?)').run(each, Date.now())
  // For a search by this key. The other entries have random bytes, because SQLite has no function for the hash.
  database.prepare('UPDATE entries SET key_hash = ? WHERE id = ?').run(keyHash(count / 2), count / 2)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

export async function fillPostgres(connectionString, count, mix) {
  const { state, type } = MIXES[mix]
  const { start, step } = times(count)
  const client = new pg.Client(connectionString)
  await client.connect()
  try {
    await client.query('SET search_path = countersign; SET synchronous_commit = off')
    await client.query(`
      CREATE TEMPORARY TABLE given AS
        SELECT nextval('entries_id') AS id, n, ${state(count)} AS state, ${type} AS type, (${start} + n * ${step})::bigint AS at
        FROM generate_series(1, ${count}) AS numbers (n);
      INSERT INTO sources VALUES (1, '${HANDLED_TYPES[0]}', '${CALLBACK_URL}', NULL, NULL, 'abcdef', 1);
      INSERT INTO entries (id, kind, source, event_type, idempotency_key, key_hash, body_hash, signature, signed_at, received_at, body_id)
      SELECT id, CASE state WHEN 'quarantined' THEN 2 ELSE 0 END, 1, type, lpad(n::text, 36, '0'), md5('k' || n)::uuid,
        md5('b' || n)::uuid, md5('s' || n)::uuid, at, at, lpad(n::text, 36, '0') FROM given;
      INSERT INTO due (id, type, due_at, due_set_at, ready)
      SELECT id, CASE type ${TYPES.map((each) => `WHEN '${each}' THEN ${typeKey(each)}`).join(' ')} END, at, at, true
      FROM given WHERE state = 'stored';
      INSERT INTO ended (id, at, state, attempts, reason)
      SELECT id, at, state, 1, CASE WHEN state IN ('dead', 'quarantined') THEN 'ERR_HANDLER_FAILED: no answer' END
      FROM given WHERE state <> 'stored';
      INSERT INTO contents (id, headers, body) SELECT id, '${HEADERS}', '${BODY}'::bytea FROM given`)
    for (const each of HANDLED_TYPES)
      await client.query('INSERT INTO handled_types VALUES ($1, $2)', [each, Date.now()])
    await client.query(
      'UPDATE entries SET key_hash = $1 WHERE id = (SELECT min(id) - 1 FROM entries) + $2::bigint',
      [keyHash(count / 2).toString('hex'), count / 2],
    )
    await client.query('VACUUM ANALYZE')
  } finally {
    await client.end()
  }
}

/** They arrived evenly over the last week. */
function times(count) {
  return { start: Date.now() - WEEK_MS, step: WEEK_MS / count }
}

function idempotencyKey(number) {
  return String(number).padStart(36, '0')
}

/** A search by the key finds the entry by the first half. */
function keyHash(number) {
  return Buffer.concat([hash('sha256', idempotencyKey(number), 'buffer').subarray(0, 8), Buffer.alloc(8)])
}

/** As `typeKey` of the inbox. */
function typeKey(type) {
  return hash('sha256', type, 'buffer').readBigInt64BE()
}
