import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Arrival } from '../../src/inbox/inbox.js'
import type { CompleteInbox } from '../../src/inbox/operations.js'
import { identityOf } from '../../src/inbox/identity.js'
import { MIGRATIONS } from '../../src/inbox/sqlite/schema.js'
import type { InboxState } from '../../src/inbox/states.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'

// As the first version has left it, which is not what is in MIGRATIONS should that be changed by mistake.
const SCHEMA_1 = readFileSync(join(__dirname, '../support/schema-1.sql'), 'utf8')
export const NOW = Date.UTC(2026, 10, 3)
export const DAY = 86_400_000
export const CLAIM = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

export interface OldRow {
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
export async function oldFile(
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
export async function fileOfVersion(version: number, rows: readonly OldRow[]): Promise<string> {
  const file = await oldFile(rows)
  const database = await openAside(file)
  for (const migration of MIGRATIONS.slice(1, version)) database.exec(migration)
  database.exec(`PRAGMA user_version = ${version}`)
  database.close()
  return file
}

export const open: SqliteInbox[] = []
afterEach(() => Promise.all(open.splice(0).map((inbox) => inbox.close())))

export function opened(file: string, options: object = {}): SqliteInbox {
  const inbox = new SqliteInbox({ file, clock: fakeClock(NOW), ...options })
  open.push(inbox)
  return inbox
}

export const ids = async (inbox: CompleteInbox, request: object = {}) =>
  (await inbox.claim({ ...CLAIM, ...request })).entries.map(({ id }) => id)

export async function asked(file: string, sql: string): Promise<unknown> {
  const database = await openAside(file)
  try {
    return database.prepare(sql).get()
  } finally {
    database.close()
  }
}

export async function schemaOf(file: string): Promise<string> {
  const sql = "SELECT group_concat(sql, ';') AS sql FROM (SELECT sql FROM sqlite_schema ORDER BY name)"
  return ((await asked(file, sql)) as { sql: string }).sql.replaceAll(/\s+/g, ' ')
}

/** One entry in each state. */
export const EVERY_STATE = {
  stored: { due_at: NOW, ready: 1 },
  running: { due_at: NOW - 1, ready: 1, token: 1, attempts: 1 },
  retrying: { due_at: NOW, ready: 1, token: 1, attempts: 1, reason: 'busy' },
  handled: { token: 1, attempts: 1, finished_at: NOW },
  dead: { token: 2, attempts: 2, finished_at: NOW, reason: 'account is closed' },
  unhandled: {},
  quarantined: { known: 0, reason: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE' },
  discarded: { finished_at: NOW },
} as const satisfies Record<InboxState, Omit<OldRow, 'state'>>
