import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Arrival } from '../../src/inbox/inbox.js'
import type { CompleteInbox } from '../../src/inbox/operations.js'
import { NO_ENTRIES } from '../../src/inbox/no-entries.js'
import { identityOf } from '../../src/inbox/identity.js'
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import type { InboxState } from '../../src/inbox/states.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'
import { settle } from '../support/settle.js'

// As the first version has left it, which is not what is in MIGRATIONS should that be changed by mistake.
const SCHEMA_1 = readFileSync(join(__dirname, '../support/schema-1.sql'), 'utf8')
const NOW = Date.UTC(2026, 10, 3)
const DAY = 86_400_000
const CLAIM = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

interface OldRow {
  readonly state: InboxState
  readonly arrival?: Arrival
  readonly known?: 0 | 1
  readonly due_at?: number
  readonly order_key?: string
  readonly ready?: 0 | 1
  readonly attempts?: number
  readonly token?: number
  readonly finished_at?: number
  readonly reason?: string
}

/** A file as the first version of the schema had it. */
async function oldFile(
  rows: readonly OldRow[],
  moreSignatures: readonly [Buffer, number][] = [],
): Promise<string> {
  const file = inboxFile()
  const database = await openAside(file)
  database.exec(SCHEMA_1)
  for (const { arrival: arrived = arrival({ signedAt: new Date(NOW) }), ...given } of rows) {
    const { callback } = arrived
    const { keyHash, bodyHash, signature } = identityOf(arrived)
    const row = {
      known: 1,
      ready: 0,
      event_type: callback.type,
      idempotency_key: callback.idempotencyKey,
      key_hash: keyHash,
      body_hash: bodyHash,
      signature,
      signed_at: Number(callback.signedAt),
      received_at: Number(callback.receivedAt),
      subscribed_type: callback.subscription.eventTypeName,
      callback_url: callback.subscription.callbackUrl,
      body: callback.rawBody,
      ...given,
    }
    const columns = Object.keys(row)
    database
      .prepare(`INSERT INTO entries (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`)
      .run(...Object.values(row))
  }
  for (const each of moreSignatures)
    database.prepare('INSERT INTO more_signatures VALUES (?, ?)').run(...each)
  database.close()
  return file
}

/** A file of the first version, brought to a later one by the migrations between them. */
async function fileOfVersion(version: number, rows: readonly OldRow[]): Promise<string> {
  const file = await oldFile(rows)
  const database = await openAside(file)
  for (const migration of MIGRATIONS.slice(1, version)) database.exec(migration)
  database.exec(`PRAGMA user_version = ${version}`)
  database.close()
  return file
}

const open: SqliteInbox[] = []
afterEach(() => Promise.all(open.splice(0).map((inbox) => inbox.close())))

function opened(file: string, options: object = {}): SqliteInbox {
  const inbox = new SqliteInbox({ file, clock: fakeClock(NOW), ...options })
  open.push(inbox)
  return inbox
}

const ids = async (inbox: CompleteInbox, request: object = {}) =>
  (await inbox.claim({ ...CLAIM, ...request })).entries.map(({ id }) => id)

async function asked(file: string, sql: string): Promise<unknown> {
  const database = await openAside(file)
  try {
    return database.prepare(sql).get()
  } finally {
    database.close()
  }
}

async function schemaOf(file: string): Promise<string> {
  const sql = "SELECT group_concat(sql, ';') AS sql FROM (SELECT sql FROM sqlite_schema ORDER BY name)"
  return ((await asked(file, sql)) as { sql: string }).sql.replaceAll(/\s+/g, ' ')
}

/** One entry in each state. */
const EVERY_STATE = {
  stored: { due_at: NOW, ready: 1 },
  running: { due_at: NOW - 1, ready: 1, token: 1, attempts: 1 },
  retrying: { due_at: NOW, ready: 1, token: 1, attempts: 1, reason: 'busy' },
  handled: { token: 1, attempts: 1, finished_at: NOW },
  dead: { token: 2, attempts: 2, finished_at: NOW, reason: 'account is closed' },
  unhandled: {},
  quarantined: { known: 0, reason: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE' },
  discarded: { finished_at: NOW },
} as const satisfies Record<InboxState, Omit<OldRow, 'state'>>

describe('a file of the first version of the schema', () => {
  it('is brought up to date when it is opened', async () => {
    const file = await oldFile([])
    expect(await asked(file, 'PRAGMA user_version')).toEqual({ user_version: 1 })
    await opened(file).open()
    expect(await asked(file, 'PRAGMA user_version')).toEqual({ user_version: SCHEMA_VERSION })
  })

  it('gets the schema of a new file', async () => {
    const files = [await oldFile([]), inboxFile()]
    for (const file of files) await opened(file).open()
    expect(await schemaOf(files[0]!)).toBe(await schemaOf(files[1]!))
  })

  it('has the schema of the first migration, which is never changed', async () => {
    const file = inboxFile()
    const database = await openAside(file)
    database.exec(MIGRATIONS[0]!)
    database.close()
    expect(await schemaOf(await oldFile([]))).toBe(await schemaOf(file))
  })

  it('keeps its entries in their states, and what can be done with each', async () => {
    const states = Object.keys(EVERY_STATE) as (keyof typeof EVERY_STATE)[]
    const inbox = opened(await oldFile(states.map((state) => ({ state, ...EVERY_STATE[state] }))))
    const shown = states.map((state) => (state === 'unhandled' ? 'stored' : state))
    expect((await inbox.list({})).map(({ state }) => state)).toEqual(shown)
    const once = Object.fromEntries(Object.keys(NO_ENTRIES).map((each) => [each, 1]))
    expect(await inbox.stats()).toMatchObject({ ...once, stored: 2, unhandled: 0 })
    const idOf = (state: InboxState) => String(states.indexOf(state) + 1)
    expect(await ids(inbox)).toEqual([idOf('stored'), idOf('retrying'), idOf('unhandled')])
    expect(await ids(inbox, { interrupted: true })).toEqual([idOf('running')])
    expect(await inbox.act(idOf('dead'), 'retry', 'ann')).toEqual({ done: true })
    expect(await inbox.act(idOf('quarantined'), 'release', 'ann')).toEqual({ done: true })
    expect(await ids(inbox)).toEqual([idOf('dead'), idOf('quarantined')])
    expect(await inbox.show(idOf('handled'))).toMatchObject({ attempts: 1, finishedAt: new Date(NOW) })
  })

  it('has what waits behind an unhandled entry wait for it', async () => {
    const file = await oldFile([
      { state: 'unhandled', order_key: 'a' },
      { state: 'stored', order_key: 'a', due_at: NOW, ready: 1 },
      { state: 'running', order_key: 'b', due_at: NOW + 1_000, ready: 1, token: 1, attempts: 1 },
      { state: 'unhandled', order_key: 'b' },
      { state: 'stored', order_key: 'b', due_at: NOW },
      { state: 'stored', due_at: NOW, ready: 1 },
    ])
    const inbox = opened(file)
    expect(await ids(inbox)).toEqual(['1', '6'])
    expect(await settle(inbox, { id: '3', token: 1 }, { move: 'complete' })).toBe(true)
    expect(await ids(inbox)).toEqual(['4'])
  })

  it('has what was running be handled by itself, and keeps its attempts', async () => {
    const inbox = opened(
      await oldFile([
        { state: 'running', due_at: NOW - 1, ready: 1, token: 2, attempts: 2 },
        { state: 'stored', due_at: NOW, ready: 1 },
      ]),
    )
    expect(await ids(inbox)).toEqual(['2'])
    expect((await inbox.claim({ ...CLAIM, interrupted: true })).entries).toMatchObject([
      { id: '1', attempt: 3 },
    ])
  })

  it('has nothing wait for a clock that was far ahead', async () => {
    const inbox = opened(
      await oldFile([
        { state: 'stored', due_at: NOW + DAY, ready: 1 },
        { state: 'retrying', due_at: NOW + DAY, ready: 1, token: 1, attempts: 1 },
        { state: 'retrying', due_at: NOW + 10, ready: 1, token: 1, attempts: 1 },
        { state: 'handled', finished_at: NOW + DAY },
      ]),
    )
    expect(await inbox.claim(CLAIM)).toMatchObject({
      entries: [{ id: '1' }],
      nextDueInMs: 10,
      clockSetBackMs: DAY,
    })
    expect(await inbox.show('2')).toMatchObject({ dueAt: new Date(NOW + 3_600_000) })
    expect(await inbox.show('4')).toMatchObject({ finishedAt: new Date(NOW) })
  })

  it('has reasons that begin with the code by which they are selected', async () => {
    const [conflict, replay] = [
      'its idempotency key is that of entry 1, which has another body',
      'its signature is that of entry 1, which has another idempotency key',
    ]
    const inbox = opened(
      await oldFile([
        { state: 'handled', finished_at: NOW },
        { state: 'quarantined', known: 0, reason: conflict },
        { state: 'quarantined', known: 0, reason: replay },
      ]),
    )
    expect((await inbox.list({ states: ['quarantined'] })).map(({ reason }) => reason)).toEqual([
      `ERR_IDEMPOTENCY_KEY_REUSED: conflict, ${conflict}`,
      `ERR_SIGNATURE_REPLAYED: replay, ${replay}`,
    ])
  })

  it('has what was handled deleted with all its signatures, which are then forgotten', async () => {
    const handled = arrival({ signedAt: new Date(NOW) })
    const file = await oldFile(
      [{ state: 'handled', arrival: handled, finished_at: NOW }],
      [[Buffer.from('anew'), 1]],
    )
    const clock = fakeClock(NOW)
    const inbox = opened(file, { clock, retentionMs: 1_000 })
    expect(await inbox.add(handled)).toEqual({ result: 'duplicate', id: '1' })
    clock.advance(1_001)
    await inbox.add(arrival({ signedAt: new Date(clock()) }))
    expect(await inbox.prune({ state: 'handled', limit: 10 })).toBe(1)
    expect(await asked(file, 'SELECT count(*) AS count FROM more_signatures')).toEqual({ count: 0 })
    expect(await inbox.add(handled)).toMatchObject({ result: 'quarantined', why: 'forgotten' })
  })

  describe('of a subscription without an id', () => {
    const earlier = arrival()
    let inbox: SqliteInbox
    beforeEach(async () => {
      inbox = opened(await oldFile([{ state: 'stored', arrival: earlier, due_at: NOW, ready: 1 }]))
    })

    it('gives its entries the default id of their subscription', async () => {
      const { subscription } = earlier.callback
      expect(await inbox.show('1')).toMatchObject({ state: 'stored', subscription })
      expect(subscription.id).toBe('transfers.book-completed https://partner.example.com/hooks/transfers')
      expect((await inbox.claim(CLAIM)).entries[0]?.callback.subscription).toEqual(subscription)
    })

    it('still recognises the repeats of what is in it', async () => {
      expect(await inbox.add({ ...earlier, signature: arrival().signature })).toEqual({
        result: 'duplicate',
        id: '1',
      })
    })

    it('takes the same callback of a subscription with an id of its own, and tells the two apart', async () => {
      const { callback } = earlier
      const subscription = { ...callback.subscription, id: 'bolt' }
      const { result, id } = await inbox.add({
        ...earlier,
        callback: { ...callback, subscription },
        key: `${callback.idempotencyKey}@bolt`,
        signature: arrival().signature,
      })
      expect(result).toBe('stored')
      expect((await inbox.show(id))?.subscription).toEqual(subscription)
      const [claimed] = (await inbox.claim(CLAIM)).entries
      await settle(inbox, claimed!, { move: 'complete' })
      expect(await inbox.related(id)).toEqual([])
    })
  })
})

describe('a file of version 6 of the schema, which stored the state unhandled', () => {
  const fileOfVersion6 = (rows: readonly OldRow[]) => fileOfVersion(6, rows)

  const HANDLED = { eventTypes: ['another type'] }

  it('has stored entries in their place, which are due', async () => {
    const file = await fileOfVersion6([{ state: 'unhandled' }, { state: 'unhandled', attempts: 2 }])
    const inbox = opened(file)
    expect((await inbox.list({})).map(({ state, dueAt }) => [state, dueAt])).toEqual([
      ['stored', new Date(NOW)],
      ['stored', new Date(NOW)],
    ])
    expect(await inbox.stats()).toMatchObject({ stored: 2, unhandled: 0 })
    expect((await inbox.claim(CLAIM)).entries).toMatchObject([
      { id: '1', attempt: 1 },
      { id: '2', attempt: 3 },
    ])
  })

  it('shows them as unhandled again once a worker has asked for other types only', async () => {
    const inbox = opened(await fileOfVersion6([{ state: 'unhandled' }]))
    expect(await ids(inbox, HANDLED)).toEqual([])
    expect(await inbox.stats()).toMatchObject({ stored: 0, unhandled: 1 })
    expect(await ids(inbox)).toEqual(['1'])
  })

  it('gives entries that share an order key one after the other, oldest first', async () => {
    const file = await fileOfVersion6([
      { state: 'stored', order_key: 'a', due_at: NOW, ready: 1 },
      { state: 'unhandled', order_key: 'a' },
      { state: 'stored', order_key: 'a', due_at: NOW },
      { state: 'unhandled', order_key: 'b' },
      { state: 'unhandled', order_key: 'b' },
      { state: 'unhandled', order_key: 'c' },
      { state: 'running', order_key: 'c', due_at: NOW + 1_000, ready: 1, token: 1, attempts: 1 },
      { state: 'stored', order_key: 'c', due_at: NOW },
    ])
    const inbox = opened(file)
    const rounds: string[][] = []
    const running = [{ id: '7', token: 1 }]
    for (let round = 0; round < 4; round++) {
      const { entries } = await inbox.claim(CLAIM)
      rounds.push(entries.map(({ id }) => id))
      const ends = [...running.splice(0), ...entries].map(
        (claim) => ({ claim, end: { move: 'complete' } }) as const,
      )
      await inbox.settle(ends)
    }
    expect(rounds).toEqual([['1', '4'], ['2', '5', '6'], ['3', '8'], []])
  })
})

describe('a file of version 7 of the schema, which had neither attempts nor headers', () => {
  const STATES = ['stored', 'running', 'retrying', 'handled', 'dead', 'quarantined', 'discarded'] as const

  async function withEachState(): Promise<{ inbox: SqliteInbox; idOf: (state: InboxState) => string }> {
    const file = await fileOfVersion(
      7,
      STATES.map((state) => ({ state, ...EVERY_STATE[state] })),
    )
    const database = await openAside(file)
    database.exec(`INSERT INTO history (entry_id, at, action, person) VALUES (7, ${NOW}, 'discard', 'ann')`)
    database.exec(`UPDATE entries SET begun_by = token WHERE state = 'running'`)
    database.close()
    const idOf = (state: InboxState) => String(STATES.indexOf(state as (typeof STATES)[number]) + 1)
    return { inbox: opened(file), idOf }
  }

  it('keeps its entries, which have no attempts and no headers', async () => {
    const { inbox, idOf } = await withEachState()
    expect((await inbox.list({})).map(({ state }) => state)).toEqual(STATES)
    for (const state of STATES) {
      const entry = (await inbox.show(idOf(state)))!
      expect(entry).toMatchObject({ state, attemptHistory: [] })
      expect([entry.headers, entry.bodyId, entry.traceContext]).toEqual([undefined, undefined, undefined])
    }
    expect(await inbox.list({ bodyId: 'transfer 1' })).toEqual([])
  })

  it('keeps decisions, which cannot be taken back as the state before them is not known', async () => {
    const { inbox, idOf } = await withEachState()
    const id = idOf('discarded')
    expect((await inbox.show(id))!.history).toEqual([{ at: new Date(NOW), action: 'discard', by: 'ann' }])
    expect(await inbox.act(id, 'undo', 'bob')).toMatchObject({ done: false, code: 'state' })
    await inbox.act(idOf('dead'), 'retry', 'bob')
    expect(await inbox.act(idOf('dead'), 'undo', 'bob')).toEqual({ done: true })
  })

  it('records the attempts that begin from then on', async () => {
    const { inbox, idOf } = await withEachState()
    const claims = [
      ...(await inbox.claim(CLAIM)).entries,
      ...(await inbox.claim({ ...CLAIM, interrupted: true })).entries,
    ]
    await inbox.begin(claims, 1_000)
    for (const claim of claims) await settle(inbox, claim, { move: 'deadLetter', error: 'no' })
    const attempts = async (state: InboxState) =>
      (await inbox.show(idOf(state)))!.attemptHistory.map(({ number, result }) => [number, result])
    expect(await attempts('stored')).toEqual([[1, 'dead']])
    expect(await attempts('retrying')).toEqual([[2, 'dead']])
    expect(await attempts('running')).toEqual([[2, 'dead']])
  })

  it('finds what arrives from then on by the Id of its body', async () => {
    const { inbox } = await withEachState()
    const { id } = await inbox.add({ ...arrival({ signedAt: new Date(NOW) }), bodyId: 'transfer 1' })
    expect((await inbox.list({ bodyId: 'transfer 1' })).map((entry) => entry.id)).toEqual([id])
  })
})
