import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CompleteInbox } from '../../src/inbox/inbox.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { fakeClock } from '../support/fake-clock.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'

const SCHEMA_1 = readFileSync(join(__dirname, '../support/schema-1.sql'), 'utf8')
const NOW = Date.UTC(2026, 10, 3)
const CLAIM = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

interface OldRow {
  readonly state: string
  readonly due_at?: number
  readonly order_key?: string
  readonly ready?: number
  readonly attempts?: number
  readonly token?: number
}

/** A file as the first version of the schema had it. */
async function oldFile(rows: readonly OldRow[]): Promise<string> {
  const file = inboxFile()
  const database = await openAside(file)
  database.exec(SCHEMA_1)
  for (const [index, { state, due_at, order_key, ready = 0, attempts = 0, token = 0 }] of rows.entries()) {
    database
      .prepare(
        `INSERT INTO entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, due_at, order_key,
          ready, token, attempts, signed_at, received_at, subscribed_type, callback_url, body)
        VALUES (?, 1, 'a.b', ?, ?, x'00', ?, ?, ?, ?, ?, ?, 1, 1, 'a.b', 'https://a.example/b', x'7b7d')`,
      )
      .run(
        state,
        `key ${index}`,
        Buffer.from([index]),
        Buffer.from([index]),
        due_at ?? null,
        order_key ?? null,
        ready,
        token,
        attempts,
      )
  }
  database.close()
  return file
}

async function opened<Result>(file: string, use: (inbox: CompleteInbox) => Promise<Result>): Promise<Result> {
  const inbox = new SqliteInbox({ file, clock: fakeClock(NOW) })
  try {
    return await use(inbox)
  } finally {
    await inbox.close()
  }
}

const ids = async (inbox: CompleteInbox, request: object = {}) =>
  (await inbox.claim({ ...CLAIM, ...request })).entries.map(({ id }) => id)

describe('a file of the first version of the schema', () => {
  it('has what waits behind an unhandled entry wait for it', async () => {
    const file = await oldFile([
      { state: 'unhandled', order_key: 'a' },
      { state: 'stored', order_key: 'a', due_at: NOW, ready: 1 },
      { state: 'running', order_key: 'b', due_at: NOW + 1_000, ready: 1, token: 1, attempts: 1 },
      { state: 'unhandled', order_key: 'b' },
      { state: 'stored', order_key: 'b', due_at: NOW },
      { state: 'stored', due_at: NOW, ready: 1 },
    ])
    await opened(file, async (inbox) => {
      expect(await ids(inbox)).toEqual([6])
      expect(await inbox.finish({ id: 3, token: 1 }, { move: 'complete' })).toBe(true)
      expect(await ids(inbox)).toEqual([])
      expect(await inbox.adopt(['a.b'])).toBe(2)
      expect(await ids(inbox)).toEqual([1, 4])
    })
  })

  it('has what was running be handled by itself, and keeps its attempts', async () => {
    const file = await oldFile([
      { state: 'running', due_at: NOW - 1, ready: 1, token: 2, attempts: 2 },
      { state: 'stored', due_at: NOW, ready: 1 },
    ])
    await opened(file, async (inbox) => {
      expect(await ids(inbox)).toEqual([2])
      expect((await inbox.claim({ ...CLAIM, interrupted: true })).entries).toMatchObject([
        { id: 1, attempt: 3 },
      ])
    })
  })

  it('has nothing wait for a clock that was far ahead', async () => {
    const day = 86_400_000
    const file = await oldFile([
      { state: 'stored', due_at: NOW + day, ready: 1 },
      { state: 'retrying', due_at: NOW + day, ready: 1, token: 1, attempts: 1 },
      { state: 'retrying', due_at: NOW + 10, ready: 1, token: 1, attempts: 1 },
    ])
    await opened(file, async (inbox) => {
      expect(await inbox.claim(CLAIM)).toMatchObject({
        entries: [{ id: 1 }],
        nextDueInMs: 10,
        clockSetBackMs: day,
      })
      expect(await inbox.show(2)).toMatchObject({ dueAt: new Date(NOW + 3_600_000) })
    })
  })
})
