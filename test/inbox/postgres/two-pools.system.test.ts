import pg from 'pg'
import type { ClaimedEntry } from '../../../src/inbox/engine.js'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'
import { randomRuns } from '../../support/random-runs.js'
import { settle } from '../../support/settle.js'
import { until } from '../../support/until.js'

/** What a race comes to differs from time to time. */
const RACES = randomRuns(30)
const PER_KEY = randomRuns(40)
const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const COMPLETE = { move: 'complete' } as const

describeWithAnyDatabase('several pools', (database) => {
  let schema: string
  const pair = async (): Promise<[PostgresInbox, PostgresInbox]> => {
    schema = database.newSchema()
    // Longer than the tests: nothing that waits for a lock gives it up.
    const patient = { busyTimeoutMs: 60_000 }
    const inboxes: [PostgresInbox, PostgresInbox] = [
      database.inboxOn(schema, patient),
      database.inboxOn(schema, patient),
    ]
    await Promise.all(inboxes.map((inbox) => inbox.open()))
    return inboxes
  }

  it('store one of twins that arrive at the same moment', async () => {
    const inboxes = await pair()
    const twins = Array.from({ length: 200 }, () => arrival())
    const results = await Promise.all(
      twins.map((twin) => Promise.all(inboxes.map((inbox) => inbox.add(twin)))),
    )
    for (const [one, other] of results) {
      expect([one!.result, other!.result].sort()).toEqual(['duplicate', 'stored'])
      expect(one!.id).toBe(other!.id)
    }
    expect(await inboxes[0].stats()).toMatchObject({ counts: { stored: 200, quarantined: 0 } })
  })

  it('neither claim in a busy loop nor wait for an entry whose row somebody has locked', async () => {
    const [inbox] = await pair()
    const { id } = await inbox.add(arrival())
    const client = new pg.Client(database.connectionString)
    await client.connect()
    const lock = () => client.query(`BEGIN; SELECT 1 FROM ${schema}.due WHERE id = ${id} FOR UPDATE`)
    await lock()
    expect(await inbox.claim(ANY)).toMatchObject({ entries: [], nextDueInMs: 50 })
    await client.query('ROLLBACK')
    const { entries } = await inbox.claim({ ...ANY, leaseMs: 1 })
    await inbox.begin(entries, 1)
    await client.query('SELECT pg_sleep(0.002)')
    await lock()
    expect(await inbox.claim(ANY)).toMatchObject({ entries: [], interruptedIsDue: false })
    await client.query('ROLLBACK')
    expect(await inbox.claim(ANY)).toMatchObject({ entries: [], interruptedIsDue: true })
    await client.end()
  })

  it('store one of a signature that arrives under several keys, and quarantine one', async () => {
    const inboxes = await pair()
    for (let round = 0; round < RACES; round++) {
      const { signature } = arrival()
      const adding = Array.from({ length: 10 }, (_, index) =>
        inboxes[index % 2]!.add(arrival({ signature, body: '{}' })),
      )
      const results = (await Promise.all(adding)).map(({ result }) => result)
      expect(results.filter((each) => each === 'stored')).toHaveLength(1)
      expect(results.filter((each) => each === 'quarantined')).toHaveLength(1)
    }
    expect(await inboxes[0].stats()).toMatchObject({ counts: { stored: RACES, quarantined: RACES } })
  })

  it('lose nothing when keys and signatures cross each other', async () => {
    const inboxes = await pair()
    for (let round = 0; round < RACES; round++) {
      const [one, other] = [arrival(), arrival()]
      const crossed = [
        { ...one, signature: other.signature },
        { ...other, signature: one.signature },
      ]
      await Promise.all([
        ...[one, other].map((each) => inboxes[0].add(each)),
        ...crossed.toReversed().map((each) => inboxes[1].add(each)),
      ])
      for (const { idempotencyKey } of [one.callback, other.callback]) {
        const { entries } = await inboxes[0].list({ idempotencyKey })
        expect(entries.length).toBeGreaterThan(0)
        expect(entries.filter(({ state }) => state === 'stored').length).toBeLessThanOrEqual(1)
      }
    }
  })

  it('remember a new signature of a repeat, or store it under its other key, and never both', async () => {
    const inboxes = await pair()
    for (let round = 0; round < RACES; round++) {
      const first = arrival()
      await inboxes[0].add(first)
      const { signature } = arrival()
      const results = await Promise.all([
        inboxes[0].add({ ...first, signature }),
        inboxes[1].add(arrival({ signature })),
      ])
      const outcomes = results.map(({ result }) => result).join(' ')
      expect(['duplicate quarantined', 'quarantined stored']).toContain(outcomes)
    }
  })

  it('give the entries of an order key one at a time, in the order in which they were stored', async () => {
    const inboxes = await pair()
    const keys = ['account 1', 'account 2', 'account 3']
    const expected = new Map<string, string[]>(keys.map((key) => [key, []]))
    const adding = (async () => {
      for (let i = 0; i < PER_KEY; i++)
        for (const orderKey of keys) {
          const { id } = await inboxes[i % 2]!.add(arrival({ orderKey, type: orderKey }))
          expected.get(orderKey)!.push(id)
        }
    })()
    const handled = new Map<string, string[]>(keys.map((key) => [key, []]))
    const running = new Set<string>()
    let count = 0
    const work = async (inbox: PostgresInbox) => {
      while (count < keys.length * PER_KEY) {
        const { entries } = await inbox.claim(ANY)
        for (const { callback } of entries) {
          expect(running.has(callback.type)).toBe(false)
          running.add(callback.type)
        }
        await inbox.begin(entries, 60_000)
        for (const { id, callback } of entries) {
          handled.get(callback.type)!.push(id)
          running.delete(callback.type)
        }
        count += entries.length
        const held = await inbox.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
        expect(held.size).toBe(entries.length)
      }
    }
    await Promise.all([adding, ...inboxes.map(work)])
    expect(handled).toEqual(expected)
  })

  it('give ids in the order in which concurrent additions of one key are promoted', async () => {
    const inboxes = await pair()
    const adding = Array.from({ length: 60 }, (_, index) =>
      inboxes[index % 2]!.add(arrival({ orderKey: 'account 1' })),
    )
    const ids = (await Promise.all(adding)).map(({ id }) => Number(id))
    const handled: number[] = []
    while (handled.length < ids.length) {
      const { entries } = await inboxes[0].claim(ANY)
      expect(entries).toHaveLength(1)
      handled.push(Number(entries[0]!.id))
      await inboxes[1].settle([{ claim: entries[0]!, end: { move: 'complete' } }])
    }
    expect(handled).toEqual(ids.toSorted((a, b) => a - b))
    // Of one process, in the order in which they were asked for.
    const ofFirst = ids.filter((_, index) => index % 2 === 0)
    expect(ofFirst).toEqual(ofFirst.toSorted((a, b) => a - b))
  })

  it('do not give an entry while an older one of its order key is being stored by another process', async () => {
    const inboxes = await pair()
    // The first arrival has its id, and waits before its commit.
    await database.query(
      `CREATE FUNCTION ${schema}.wait() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN IF NEW.event_type = ''slow'' THEN PERFORM pg_advisory_xact_lock(42); END IF; RETURN NEW; END';
      CREATE TRIGGER wait BEFORE INSERT ON ${schema}.entries FOR EACH ROW EXECUTE FUNCTION ${schema}.wait()`,
    )
    const gate = new pg.Client(database.connectionString)
    await gate.connect()
    await gate.query('SELECT pg_advisory_lock(42)')
    const waiting = async () => {
      const { rows } = await gate.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
      return rows.length
    }
    const first = inboxes[0].add(arrival({ type: 'slow', orderKey: 'account 1' }))
    while ((await waiting()) < 1);
    const later = { isStored: false }
    const second = inboxes[1].add(arrival({ orderKey: 'account 1' })).finally(() => (later.isStored = true))
    while ((await waiting()) < 2 && !later.isStored);
    expect((await inboxes[1].claim(ANY)).entries).toEqual([])
    await gate.end()
    const ids = [(await first).id, (await second).id]
    for (const id of ids) {
      const { entries } = await inboxes[1].claim(ANY)
      expect(entries.map((entry) => entry.id)).toEqual([id])
      await inboxes[1].settle([{ claim: entries[0]!, end: { move: 'complete' } }])
    }
  })

  it('claim every entry once', async () => {
    const inboxes = await pair()
    await Promise.all(Array.from({ length: 300 }, () => inboxes[0].add(arrival())))
    const claimed: ClaimedEntry[] = []
    await Promise.all(
      inboxes.map(async (inbox) => {
        for (;;) {
          const { entries } = await inbox.claim({ ...ANY, limit: 7 })
          if (entries.length === 0) return
          claimed.push(...entries)
        }
      }),
    )
    expect(claimed).toHaveLength(300)
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(300)
  })

  it('end a claim once', async () => {
    const inboxes = await pair()
    await inboxes[0].add(arrival())
    const [first] = (await inboxes[0].claim({ ...ANY, leaseMs: 1 })).entries
    let second: ClaimedEntry | undefined
    while (!second) second = (await inboxes[1].claim(ANY)).entries[0]
    expect(await inboxes[0].settle([{ claim: first!, end: { move: 'complete' } }])).toEqual(new Set())
    expect(await inboxes[1].settle([{ claim: second, end: { move: 'complete' } }])).toEqual(
      new Set([first!.id]),
    )
  })

  it('do not end an entry by the claim of another one, which had its id before a failover lost it', async () => {
    const [one, other] = await pair()
    await one.add(arrival())
    const [lost] = (await one.claim(ANY)).entries
    await database.query(
      `DELETE FROM ${schema}.entries; DELETE FROM ${schema}.due; DELETE FROM ${schema}.contents;
      ALTER SEQUENCE ${schema}.entries_id RESTART WITH ${lost!.id}`,
    )
    await other.add(arrival())
    const [entry] = (await other.claim(ANY)).entries
    expect(entry!.id).toBe(lost!.id)
    expect(await settle(one, lost!, COMPLETE)).toBe(false)
    expect(await settle(other, entry!, COMPLETE)).toBe(true)
  })

  it('wake each other', async () => {
    const inboxes = await pair()
    let calls = 0
    const end = inboxes[1].watch(() => calls++)
    // It is called once when it has begun to listen.
    await until(() => calls >= 1)
    await inboxes[0].add(arrival())
    // Without a notification nothing calls it again.
    await until(() => calls >= 2)
    end()
  })

  it('wake each other when an entry is discarded, behind which the next one of its order key waited', async () => {
    const [receiving, acting] = await pair()
    const { id } = await receiving.add(arrival({ orderKey: 'a' }))
    await receiving.add(arrival({ orderKey: 'a' }))
    // Sends what it has to announce.
    await receiving.close()
    const working = database.inboxOn(schema)
    let calls = 0
    working.watch(() => calls++)
    await until(() => calls === 1)
    await acting.act(id, 'discard', 'ann')
    await until(() => calls === 2)
  })

  it('listen again after the connection was cut', async () => {
    const inboxes = await pair()
    let calls = 0
    inboxes[1].watch(() => calls++)
    await until(() => calls >= 1)
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()",
    )
    await until(() => calls >= 2)
    await inboxes[0].add(arrival())
    await until(() => calls >= 3)
  })

  it('quarantine what is deleted by another process while it arrives again', async () => {
    const [inbox] = await pair()
    const given = arrival()
    await inbox.add(given)
    const other = new pg.Client(database.connectionString)
    await other.connect()
    await other.query(
      `BEGIN; INSERT INTO ${schema}.deleted SELECT 1, signed_at FROM ${schema}.entries;
      DELETE FROM ${schema}.entries`,
    )
    const adding = inbox.add(given)
    const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
    while ((await database.query(waits)).rows.length === 0);
    await other.query('COMMIT')
    await other.end()
    expect(await adding).toMatchObject({ result: 'quarantined', why: 'forgotten' })
  })
})
