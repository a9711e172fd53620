import { identityOf } from '../../src/inbox/sqlite/identity.js'
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { arrival } from '../support/arrivals.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'

/** 'CSIN' */
const APPLICATION_ID = 0x4353494e

const earlier = arrival({ idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' })

/** A file as the first version of the schema has it, with one entry in it. */
async function fileOfFirstVersion(): Promise<string> {
  const file = inboxFile()
  const db = await openAside(file)
  db.exec(MIGRATIONS[0]!)
  const { keyHash, bodyHash, signature } = identityOf(earlier)
  const { type, idempotencyKey, signedAt, receivedAt, rawBody, subscription } = earlier.callback
  db.prepare(
    'INSERT INTO entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, due_at, ready, ' +
      "signed_at, received_at, subscribed_type, callback_url, body) VALUES ('stored', 1, ?, ?, ?, ?, ?, 0, 1, ?, ?, ?, ?, ?)",
  ).run(
    type,
    idempotencyKey,
    keyHash,
    bodyHash,
    signature,
    Number(signedAt),
    Number(receivedAt),
    subscription.eventTypeName,
    subscription.callbackUrl,
    rawBody,
  )
  db.exec(`PRAGMA user_version = 1; PRAGMA application_id = ${APPLICATION_ID}`)
  db.close()
  return file
}

async function versionOf(file: string): Promise<unknown> {
  const db = await openAside(file)
  try {
    return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
  } finally {
    db.close()
  }
}

describe('a file of the first version', () => {
  let inbox: SqliteInbox
  let file: string
  beforeEach(async () => {
    file = await fileOfFirstVersion()
    inbox = new SqliteInbox({ file })
    await inbox.open()
  })
  afterEach(() => inbox.close())

  it('is brought up to date when it is opened', async () => {
    expect(await versionOf(file)).toBe(SCHEMA_VERSION)
  })

  it('gives its entries the default id of their subscription', async () => {
    const { subscription } = earlier.callback
    expect(await inbox.show(1)).toMatchObject({ state: 'stored', subscription })
    expect((await inbox.list({}))[0]?.subscription.id).toBe(
      'transfers.book-completed https://partner.example.com/hooks/transfers',
    )
    const {
      entries: [claimed],
    } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 1_000 })
    expect(claimed?.callback.subscription).toEqual(subscription)
  })

  it('still recognises the repeats of what is in it', async () => {
    const signedAnew = { ...earlier, signature: arrival().signature }
    expect(await inbox.add(signedAnew)).toEqual({ result: 'duplicate', id: 1 })
  })

  it('takes the same callback of a subscription with an id of its own', async () => {
    const { callback } = earlier
    const subscription = { ...callback.subscription, id: 'bolt' }
    const other = {
      ...earlier,
      callback: { ...callback, subscription },
      key: `${callback.idempotencyKey}@bolt`,
      signature: arrival().signature,
    }
    const { result, id } = await inbox.add(other)
    expect(result).toBe('stored')
    expect((await inbox.show(id))?.subscription).toEqual(subscription)
  })
})
