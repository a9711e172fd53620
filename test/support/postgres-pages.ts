import type pg from 'pg'
import { SCHEMA_VERSION } from '../../src/inbox/postgres/migrations.js'
import { textKey } from '../../src/inbox/postgres/text-key.js'
import { arrival } from './arrivals.js'
import type { WholeInbox } from './whole-inbox.js'

export const BATCH = 32
const LAST = `${SCHEMA_VERSION}, 1000`

/** How many pages each of the functions reads for a batch of new entries. Nothing else may be due. */
export async function handleBatch(
  client: pg.Client,
  schema: string,
  inbox: Pick<WholeInbox, 'add'>,
  interruptedFrom = 0,
) {
  await Promise.all(Array.from({ length: BATCH }, () => inbox.add(arrival())))
  const call = (sql: string) => pagesOf(client, `SELECT * FROM ${schema}.${sql}`)
  const claim = await call(
    `claim_entries(ARRAY[${textKey('transfers.book-completed')}], ${BATCH}, 60000, false, 99, ${interruptedFrom}, ${LAST})`,
  )
  const { rows } = await client.query<{ ids: string; tokens: string }>(
    `SELECT array_agg(id)::text AS ids, array_agg(token)::text AS tokens FROM ${schema}.due WHERE state = 'running'`,
  )
  const held = `'${rows[0]!.ids}', '${rows[0]!.tokens}'`
  const all = (value: string) => `array_fill(${value}, ARRAY[${BATCH}])`
  const ends = `${all("'handled'::text")}, ${all('NULL::bigint')}, ${all('NULL::text')}, ${all('false')}, ${all("'handled'::text")}`
  const settle = await call(`settle_entries(${held}, ${ends}, ${all('NULL::text')}, 1, ${LAST})`)
  return { claim, settle }
}

async function pagesOf(client: pg.Client, sql: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`,
  )
  const { Plan: plan } = rows[0]!['QUERY PLAN'][0]
  return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
}
