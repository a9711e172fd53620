import type pg from 'pg'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'

const COUNT = 20_000

interface Plan {
  readonly 'Node Type': string
  readonly 'Actual Loops': number
  readonly Plans?: readonly Plan[]
}

describeWithAnyDatabase('the search of a PostgresInbox', (database) => {
  it('reads the entries of a step in the order of an index, and looks none up by its id', async () => {
    const { schema, inbox, sent } = await filledInbox()
    const filters = [
      { reason: 'nothing' },
      { states: ['dead', 'discarded'], reason: 'nothing' },
      { eventType: 'nothing.at-all' },
    ] as const
    for (const filter of filters) {
      sent.length = 0
      expect((await inbox.search(filter, { newestFirst: true })).entries).toEqual([])
      expect(await inbox.count(filter, 10)).toMatchObject({ count: 0 })
      const ofEntries = sent.filter(({ text }) => /FROM entries\b/.test(text))
      expect(ofEntries).toHaveLength(4)
      for (const { text, values } of ofEntries)
        expect(Math.max(...loopsOf(await explain(schema, text, values)))).toBeLessThan(10)
    }
  })

  it('looks for no oldest unfinished entry for the figures if every entry that waits is unhandled', async () => {
    const { schema, inbox, sent } = await filledInbox()
    await database.query(`UPDATE ${schema}.entries SET state = 'stored' WHERE id <= 100`)
    const waitsFor = async (type: string) => {
      await inbox.claim({ eventTypes: [type], limit: 1, leaseMs: 1 })
      sent.length = 0
      const { oldestUnfinished } = await inbox.stats()
      const { text, values } = sent.find((each) => each.text.includes('oldest_unfinished'))!
      const steps = stepsOf(await explain(schema, text, values)).filter((step) => step === 'Limit')
      return { oldestUnfinished, steps }
    }
    expect(await waitsFor('nothing.at-all')).toEqual({ oldestUnfinished: undefined, steps: [] })
    expect(await waitsFor('transfers.book-completed')).toEqual({
      oldestUnfinished: new Date(1),
      steps: ['Limit'],
    })
  })

  async function filledInbox() {
    const schema = database.newSchema()
    const sent: { text: string; values: unknown[] }[] = []
    const inbox = database.inboxOn(schema, { pool: recordingPool(database.pool, sent) })
    await inbox.open()
    await fill(schema)
    return { schema, inbox, sent }
  }

  async function fill(schema: string): Promise<void> {
    await database.query(`
      INSERT INTO ${schema}.entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, due_set_at, ready,
        signed_at, received_at, finished_at, subscribed_type, callback_url, body, reason, secret_fingerprint)
      SELECT CASE WHEN n % 2 = 0 THEN 'dead' ELSE 'handled' END, true, 'transfers.book-completed', n::text,
        decode(md5('k' || n), 'hex'), '', decode(md5('s' || n), 'hex'), n, false, n, n, n, '', '', '', 'no answer', ''
      FROM generate_series(1, ${COUNT}) AS numbers (n)`)
    await database.query(`ANALYZE ${schema}.entries`)
  }

  async function explain(schema: string, text: string, values: unknown[]): Promise<Plan> {
    const client = await database.pool.connect()
    try {
      await client.query(`BEGIN; SET LOCAL search_path = ${schema}`)
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
      return rows[0]['QUERY PLAN'][0].Plan
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  }
})

/** A pool that records the statements that have values. */
function recordingPool(pool: pg.Pool, sent: { text: string; values: unknown[] }[]): pg.Pool {
  return new Proxy(pool, {
    get(target, name) {
      if (name !== 'connect') return Reflect.get(target, name, target)
      return async () => {
        const client = await target.connect()
        return new Proxy(client, {
          get(inner, method) {
            const value: unknown = Reflect.get(inner, method, inner)
            if (typeof value !== 'function') return value
            if (method !== 'query') return value.bind(inner)
            return (text: string, values?: unknown[]) => {
              if (values) sent.push({ text, values })
              return inner.query(text, values)
            }
          },
        })
      }
    },
  })
}

function loopsOf({ 'Actual Loops': loops, Plans: plans = [] }: Plan): number[] {
  return [loops, ...plans.flatMap(loopsOf)]
}

/** The types of the nodes that were executed. */
function stepsOf({ 'Node Type': type, 'Actual Loops': loops, Plans: plans = [] }: Plan): string[] {
  return [...(loops > 0 ? [type] : []), ...plans.flatMap(stepsOf)]
}
