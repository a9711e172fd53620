import type pg from 'pg'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'
import { textKey } from '../../../src/inbox/postgres/text-key.js'
import { manyEntries } from '../../support/postgres-rows.js'

const COUNT = 20_000

interface Statement {
  readonly text: string
  readonly values: unknown[]
}

interface Plan {
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
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
      expect((await inbox.list(filter, { newestFirst: true })).entries).toEqual([])
      expect(await inbox.count(filter, 10)).toMatchObject({ count: 0 })
      const plans = await plansOf(schema, sent)
      expect(plans).toHaveLength(4)
      for (const plan of plans) expect(Math.max(...loopsOf(plan))).toBeLessThan(10)
    }
  })

  it('reads no other entries to find those of a state, which are beside each other after an outage', async () => {
    const { schema, inbox, sent } = await filledInbox(
      `CASE WHEN n > ${COUNT - 10} THEN 'stored' WHEN n BETWEEN 16001 AND 18000 THEN 'dead' ELSE 'handled' END`,
    )
    const leftOut = async (find: () => Promise<unknown>) => {
      sent.length = 0
      await find()
      const plans = await plansOf(schema, sent)
      expect(plans).toHaveLength(2)
      return Math.max(...plans.map(entriesLeftOut))
    }
    const states = ['dead', 'discarded'] as const
    expect(await leftOut(() => inbox.list({ states }, { limit: 50 }))).toBeLessThan(100)
    expect(
      await leftOut(() => inbox.list({ states: ['dead'] }, { limit: 50, newestFirst: true })),
    ).toBeLessThan(100)
    expect(await leftOut(() => inbox.list({ states: ['dead'] }, { limit: 1 }))).toBeLessThan(100)
    expect(await leftOut(() => inbox.list({ states: ['stored'], eventType: 'nothing.at-all' }))).toBeLessThan(
      100,
    )
    expect(await leftOut(() => inbox.count({ states }, 10))).toBeLessThan(100)
    expect(await leftOut(() => inbox.stats())).toBeLessThan(100)
  })

  it('counts the entries that do not wait by an index alone', async () => {
    const { schema, inbox, sent } = await filledInbox()
    await inbox.stats()
    const { text, values } = sent.find((each) => each.text.includes('GROUP BY'))!
    const client = await database.pool.connect()
    try {
      // The server would read a table of this size. What is tested is whether the statement allows more.
      await client.query(
        `BEGIN; SET LOCAL search_path = ${schema}; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`,
      )
      const { rows } = await client.query(`EXPLAIN (COSTS OFF) ${text}`, values)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toContain('Index Only Scan using ended_by_time')
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('reads no other entries for the times that may have to be corrected', async () => {
    const { schema, inbox, sent } = await filledInbox(
      `CASE WHEN n > ${COUNT - 10} THEN 'stored' ELSE 'handled' END`,
    )
    sent.length = 0
    await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 1 })
    const plans = await plansOf(schema, sent)
    expect(plans).toHaveLength(4)
    expect(Math.max(...plans.map(entriesLeftOut))).toBeLessThan(100)
  })

  it('reads none that waits to find those that are stored again because no worker has a handler any more', async () => {
    const { schema, inbox, sent } = await filledInbox("'stored'")
    const advance = await withFakeClock(database, schema)
    const ask = () => inbox.claim({ eventTypes: ['nothing.at-all'], limit: 1, leaseMs: 1 })
    // The first claims of a process look at the times of all.
    while ((await ask()).nextDueInMs === 0);
    await advance(60_000)
    await ask()
    sent.length = 0
    await ask()
    const plans = await plansOf(schema, sent)
    expect(plans).toHaveLength(1)
    expect(Math.max(...plans.map(entriesLeftOut))).toBeLessThan(10)
  })

  it('looks up a bounded number of entries for the latest signed time, however many secrets there are', async () => {
    const { schema, inbox, sent } = await filledInbox()
    await database.query(
      `UPDATE ${schema}.entries SET source = id, kind = CASE id % 2 WHEN 0 THEN 0 ELSE 2 END`,
    )
    await database.query(`ANALYZE ${schema}.entries`)
    sent.length = 0
    expect(await inbox.prune({ state: 'handled', limit: 1 })).toBe(0)
    const plans = await plansOf(schema, sent)
    expect(plans).toHaveLength(2)
    for (const plan of plans) expect(Math.max(...loopsOf(plan))).toBeLessThanOrEqual(100)
    expect(Math.max(...plans.map(entriesLeftOut))).toBeLessThan(100)
  })

  it('looks for no oldest unfinished entry for the figures if every entry that waits is unhandled', async () => {
    const { schema, inbox, sent } = await filledInbox()
    await database.query(`WITH moved AS (DELETE FROM ${schema}.ended WHERE id <= 100 RETURNING id)
      INSERT INTO ${schema}.due (id, type, due_at, due_set_at, ready) SELECT id, ${textKey('transfers.book-completed')}, 1, 1, true FROM moved`)
    const waitsFor = async (type: string) => {
      await inbox.claim({ eventTypes: [type], limit: 1, leaseMs: 1 })
      sent.length = 0
      const { oldestUnfinishedAt } = await inbox.stats()
      return { oldestUnfinishedAt, isSearched: sent.some(({ text }) => text.includes('LIMIT')) }
    }
    expect(await waitsFor('nothing.at-all')).toEqual({ oldestUnfinishedAt: undefined, isSearched: false })
    expect(await waitsFor('transfers.book-completed')).toEqual({
      oldestUnfinishedAt: new Date(1),
      isSearched: true,
    })
  })

  /** `state`: SQL for the state of entry `n`. */
  async function filledInbox(state = "CASE WHEN n % 2 = 0 THEN 'dead' ELSE 'handled' END") {
    const schema = database.newSchema()
    const sent: Statement[] = []
    const inbox = database.inboxOn(schema, { pool: recordingPool(database.pool, sent) })
    await inbox.open()
    await fill(schema, state)
    return { schema, inbox, sent }
  }

  async function fill(schema: string, state: string): Promise<void> {
    await database.query(manyEntries(schema, COUNT, { state }))
  }

  /** The plans of the statements of searches, in a transaction with the same settings. */
  async function plansOf(schema: string, statements: readonly Statement[]): Promise<Plan[]> {
    const plans: Plan[] = []
    const client = await database.pool.connect()
    try {
      await client.query(`BEGIN; SET LOCAL search_path = ${schema}`)
      for (const { text, values } of statements) {
        if (text.startsWith('SELECT set_config')) await client.query(text)
        if (!/LIMIT|AS found/.test(text)) continue
        const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
        plans.push(rows[0]['QUERY PLAN'][0].Plan)
      }
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
    return plans
  }
})

/** A pool that records the statements that have values. */
function recordingPool(pool: pg.Pool, sent: Statement[]): pg.Pool {
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
              // The server's own views are no part of a search.
              if (values && !text.includes('pg_stat_')) sent.push({ text, values })
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

/** How many entries were read and then left out. */
function entriesLeftOut({ 'Rows Removed by Filter': removed = 0, Plans: plans = [] }: Plan): number {
  return plans.reduce((sum, plan) => sum + entriesLeftOut(plan), removed)
}
