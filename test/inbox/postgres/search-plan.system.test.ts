import type pg from 'pg'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'
import type { InboxState } from '../../../src/inbox/states.js'
import { textKey } from '../../../src/inbox/postgres/text-key.js'
import { manyEntries } from '../../support/postgres-rows.js'

const COUNT = 20_000

interface Statement {
  readonly text: string
  readonly values: unknown[]
}

interface Plan {
  readonly 'Actual Loops': number
  readonly 'Actual Rows': number
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

  it('reads of each state the entries between the first and the last one of it', async () => {
    const { schema, inbox, sent } = await filledInbox(
      `CASE WHEN n > ${COUNT - 10} THEN 'stored' WHEN n % 10 < 6 AND n BETWEEN 8001 AND 12000 THEN 'dead' ELSE 'handled' END`,
    )
    const eventType = 'nothing.at-all'
    for (const states of [['dead'], ['dead', 'stored', 'unhandled']] as const) {
      sent.length = 0
      await inbox.list({ states, eventType }, { newestFirst: true })
      await inbox.count({ states, eventType }, 10)
      // As the server plans it for many entries.
      const plans = await plansOf(schema, sent, 'SET LOCAL enable_nestloop = off')
      expect(plans).toHaveLength(4)
      expect(Math.max(...plans.map(mostRead))).toBeLessThanOrEqual(4_000)
    }
  })

  it('goes on after the last entry of all states', async () => {
    const { inbox } = await filledInbox("CASE WHEN n <= 100 THEN 'discarded' ELSE 'dead' END")
    const filter = { states: ['dead', 'discarded'], reason: 'nothing' } as const
    expect(await inbox.list(filter, {})).toEqual({ entries: [], next: String(COUNT) })
    expect(await inbox.list(filter, { newestFirst: true })).toEqual({ entries: [], next: '1' })
  })

  it.each([
    ['stored', 'retrying'],
    ['stored', 'running'],
    ['retrying', 'running'],
  ] as const)('reads none that is %s to find those that are %s', async (others, state) => {
    const { schema, inbox, sent } = await filledInbox("'stored'")
    await database.query(`UPDATE ${schema}.due SET state = $1`, [others])
    await database.query(`ANALYZE ${schema}.due`)
    sent.length = 0
    expect((await inbox.list({ states: [state] })).entries).toEqual([])
    const plans = await plansOf(schema, sent)
    expect(Math.max(...plans.map(entriesLeftOut))).toBe(0)
    expect(Math.max(...plans.map(mostRead))).toBeLessThan(100)
  })

  it('finds those of each set of states', async () => {
    const schema = database.newSchema()
    const inbox = database.inboxOn(schema)
    await inbox.open()
    const states = [
      'handled',
      'dead',
      'quarantined',
      'discarded',
      'stored',
      'retrying',
      'running',
      'unhandled',
    ]
    const pick = (...any: string[]) => `(ARRAY['${any.join("', '")}'])[1 + n * 7919 % ${any.length}]`
    const state = pick('handled', 'dead', 'quarantined', 'discarded', 'stored', 'stored', 'stored', 'stored')
    await database.query(
      manyEntries(schema, 300, { state, type: `CASE n % 3 WHEN 0 THEN 'usual' ELSE 'rare' END` }),
    )
    await database.query(`UPDATE ${schema}.due SET state = (ARRAY['stored', 'retrying', 'running', 'running'])[1 + id % 4],
      begun_by = CASE id % 4 WHEN 3 THEN token ELSE 0 END`)
    for (const eventTypes of [['usual'], 'any'] as const) {
      await inbox.claim({ eventTypes, limit: 1, leaseMs: 1 })
      const { entries: all } = await inbox.list({}, { limit: 1_000 })
      for (let chosen = 1; chosen < 2 ** states.length; chosen += 3) {
        const some = states.filter((_, place) => chosen & (1 << place)) as InboxState[]
        const expected = all.filter((entry) => some.includes(entry.state)).map(({ id }) => id)
        const { entries } = await inbox.list({ states: some }, { limit: 1_000 })
        expect([some, entries.map(({ id }) => id)]).toEqual([some, expected])
        expect((await inbox.count({ states: some }, 1_000)).count).toBe(expected.length)
      }
      expect(new Set(all.map((entry) => entry.state)).size).toBe(eventTypes === 'any' ? 7 : 8)
    }
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
  async function plansOf(schema: string, statements: readonly Statement[], setting = ''): Promise<Plan[]> {
    const plans: Plan[] = []
    const client = await database.pool.connect()
    try {
      await client.query(`BEGIN; SET LOCAL search_path = ${schema}; ${setting}`)
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

/** The most rows that one part of a plan has returned. */
function mostRead({ 'Actual Rows': rows, 'Actual Loops': loops, Plans: plans = [] }: Plan): number {
  return Math.max(rows * loops, ...plans.map(mostRead))
}

/** How many entries were read and then left out. */
function entriesLeftOut({ 'Rows Removed by Filter': removed = 0, Plans: plans = [] }: Plan): number {
  return plans.reduce((sum, plan) => sum + entriesLeftOut(plan), removed)
}
