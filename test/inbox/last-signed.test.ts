import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadDriver } from '../../src/inbox/sqlite/driver.js'
import { SqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.js'
import { lastSigned, type LastSignedLimits } from '../../src/inbox/sqlite/last-signed.js'
import { readInboxFile, type Reader } from '../../src/inbox/sqlite/read-inbox-file.js'
import { secretFingerprint } from '../../src/callback/secret-fingerprint.js'
import { hmacKey } from '../../src/signature/secret.js'
import { hashBody } from '../../src/signature/string-to-sign.js'
import { signCallback } from '../../src/signature/index.js'

const OLD = 'the-old-secret'
const NEW = 'the-new-secret'
const SUBSCRIPTION = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers?tenant=1',
}

let directory: string
let inbox: SqliteInbox
let count = 0
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-last-signed-'))
  inbox = new SqliteInbox({ file: join(directory, 'a.db') })
  await inbox.open()
})
afterEach(async () => {
  await inbox.close()
  await rm(directory, { recursive: true })
})

interface StoreOptions extends Partial<typeof SUBSCRIPTION> {
  readonly suspicion?: string
  /** Whether the entry has the fingerprint of its secret, as entries of earlier versions do not. */
  readonly fingerprint?: boolean
}

/** Stores what the service would have signed so; returns the entry's number. */
async function store(
  secret: string,
  timestamp: string,
  { suspicion, fingerprint = false, ...other }: StoreOptions = {},
): Promise<string> {
  const subscription = { ...SUBSCRIPTION, ...other }
  const rawBody = Buffer.from(`{"Id":"${count++}"}`)
  const authorization = signCallback({ ...subscription, secret, timestamp, body: rawBody })
  const { id } = await inbox.add({
    callback: {
      type: subscription.eventTypeName,
      idempotencyKey: `key-${count}`,
      signedAt: new Date(
        `${timestamp.replace(/-(\d\d) /, ' 20$1 ')}${timestamp.endsWith('GMT') ? '' : ' GMT'}`,
      ),
      receivedAt: new Date(Date.UTC(2026, 10, 20)),
      rawBody,
      subscription: { id: 'a', ...subscription },
      ...(fingerprint && { secretFingerprint: secretFingerprint(hmacKey(secret)) }),
    },
    key: `key-${count}`,
    bodyHash: hashBody(rawBody),
    signature: authorization.replace('HMAC-SHA256 Signature=', ''),
    suspicion,
  })
  return id
}

let bodiesRead = 0
function countingBodies(db: Reader): Reader {
  const get: Reader['get'] = (sql, ...values) => {
    if (sql.startsWith('SELECT body')) bodiesRead++
    return db.get(sql, ...values)
  }
  return { get, all: db.all }
}

async function look(secrets: readonly string[] = [OLD, NEW], limits?: LastSignedLimits) {
  const report = await readInboxFile(join(directory, 'a.db'), (db) =>
    lastSigned(
      countingBodies(db),
      secrets.map((secret) => ({ ...SUBSCRIPTION, secret })),
      limits,
    ),
  )
  return { ...report!, seen: report!.seen.map((each) => each?.signedAt.toISOString()) }
}

describe('lastSigned', () => {
  it('finds the latest callback of each secret', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    await store(OLD, 'Wed, 04 Nov 2026 09:14:27 GMT')
    await store(NEW, 'Thu, 05 Nov 2026 09:14:27 GMT')
    await store(NEW, 'Fri, 06 Nov 2026 09:14:27 GMT')
    expect((await look()).seen).toEqual(['2026-11-04T09:14:27.000Z', '2026-11-06T09:14:27.000Z'])
  })

  it.each([
    ['IMF-fixdate', 'Tue, 03 Nov 2026 09:14:27 GMT', '2026-11-03T09:14:27.000Z'],
    ['RFC 850', 'Tuesday, 03-Nov-26 09:14:27 GMT', '2026-11-03T09:14:27.000Z'],
    ['RFC 850, on a Saturday', 'Saturday, 07-Nov-26 09:14:27 GMT', '2026-11-07T09:14:27.000Z'],
    ['asctime with a space', 'Tue Nov  3 09:14:27 2026', '2026-11-03T09:14:27.000Z'],
    ['asctime with a zero', 'Tue Nov 03 09:14:27 2026', '2026-11-03T09:14:27.000Z'],
    ['asctime with two digits', 'Fri Nov 13 09:14:27 2026', '2026-11-13T09:14:27.000Z'],
  ])('knows a time that was written as %s', async (_, timestamp, signedAt) => {
    await store(OLD, timestamp)
    expect((await look()).seen).toEqual([signedAt, undefined])
  })

  it('goes by the time of signing: a captured delivery that is sent again makes no secret look used', async () => {
    await store(OLD, 'Wed, 04 Nov 2026 09:14:27 GMT')
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { suspicion: 'too old' })
    expect((await look()).seen[0]).toBe('2026-11-04T09:14:27.000Z')
  })

  it('looks at what is in quarantine, too: its signature is right', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { suspicion: 'too old' })
    expect((await look()).seen[0]).toBe('2026-11-03T09:14:27.000Z')
  })

  it.each([{ eventTypeName: 'accounts.closed' }, { callbackUrl: 'https://partner.example.com/hooks/other' }])(
    'does not take the callbacks of another subscription for its own: %j',
    async (other) => {
      await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', other)
      expect((await look()).seen).toEqual([undefined, undefined])
    },
  )

  it('looks no further once every secret is found', async () => {
    for (const day of ['Tue, 03', 'Wed, 04', 'Thu, 05']) await store(OLD, `${day} Nov 2026 09:14:27 GMT`)
    expect(await look([OLD])).toMatchObject({ lookedAt: 1, hasMore: false })
    expect(await look([OLD, NEW])).toMatchObject({ lookedAt: 3, hasMore: false })
  })

  it('ends at its limits, and says that there is more', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    await store(NEW, 'Wed, 04 Nov 2026 09:14:27 GMT')
    for (const limits of [{ entries: 1 }, { bytes: 1 }]) {
      expect(await look([OLD], limits)).toEqual({ seen: [undefined], lookedAt: 1, hasMore: true })
    }
  })

  it('tells the callback URLs of one type apart, which one secret may sign for', async () => {
    const here = 'https://partner.example.com/hooks/here'
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { callbackUrl: here })
    const secrets = [
      { ...SUBSCRIPTION, secret: OLD },
      { ...SUBSCRIPTION, callbackUrl: here, secret: OLD },
    ]
    const report = await readInboxFile(join(directory, 'a.db'), (db) => lastSigned(db, secrets))
    expect(report!.seen).toEqual([undefined, expect.objectContaining({ entry: '1' })])
  })

  it('finds one secret for every subscription that has it', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    expect((await look([OLD, OLD])).seen).toEqual(['2026-11-03T09:14:27.000Z', '2026-11-03T09:14:27.000Z'])
  })
})

describe('lastSigned, of entries that have the fingerprint of their secret', () => {
  const fingerprint = true

  it('is a query that reads no body', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { fingerprint })
    await store(OLD, 'Wed, 04 Nov 2026 09:14:27 GMT', { fingerprint })
    await store(NEW, 'Thu, 05 Nov 2026 09:14:27 GMT', { fingerprint })
    bodiesRead = 0
    expect(await look([OLD, NEW, 'unused'])).toEqual({
      seen: ['2026-11-04T09:14:27.000Z', '2026-11-05T09:14:27.000Z', undefined],
      lookedAt: 3,
      hasMore: false,
    })
    expect(bodiesRead).toBe(0)
  })

  it('goes by the time of signing', async () => {
    await store(OLD, 'Wed, 04 Nov 2026 09:14:27 GMT', { fingerprint })
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { fingerprint, suspicion: 'too old' })
    expect((await look()).seen[0]).toBe('2026-11-04T09:14:27.000Z')
  })

  it.each([{ eventTypeName: 'accounts.closed' }, { callbackUrl: 'https://partner.example.com/hooks/other' }])(
    'does not take the callbacks of another subscription with that secret for its own: %j',
    async (other) => {
      await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { fingerprint, ...other })
      expect((await look()).seen).toEqual([undefined, undefined])
    },
  )

  it('has entries without one beside them, of which only later ones are signed again', async () => {
    await store(NEW, 'Mon, 02 Nov 2026 09:14:27 GMT')
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    await store(OLD, 'Wed, 04 Nov 2026 09:14:27 GMT', { fingerprint })
    await store(OLD, 'Thu, 05 Nov 2026 09:14:27 GMT')
    expect((await look([OLD])).seen).toEqual(['2026-11-05T09:14:27.000Z'])
    expect(await look()).toMatchObject({
      seen: ['2026-11-05T09:14:27.000Z', '2026-11-02T09:14:27.000Z'],
      lookedAt: 4,
    })
  })

  it('reads the file of an earlier version, and leaves it as it is', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    await inbox.close()
    const { DatabaseSync } = await loadDriver()
    const earlier = new DatabaseSync(join(directory, 'a.db'))
    earlier.exec('DROP INDEX entries_by_secret; ALTER TABLE entries DROP COLUMN secret_fingerprint')
    earlier.close()
    expect(await look()).toEqual({
      seen: ['2026-11-03T09:14:27.000Z', undefined],
      lookedAt: 1,
      hasMore: false,
    })
  })
})

describe('readInboxFile', () => {
  const file = () => join(directory, 'a.db')

  it('sees what is committed while the inbox is open', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    expect((await look([OLD])).lookedAt).toBe(1)
    await store(NEW, 'Wed, 04 Nov 2026 09:14:27 GMT')
    expect((await look([OLD])).lookedAt).toBe(2)
  })

  it('cannot write', async () => {
    const write = readInboxFile(file(), (db) => db.all('DELETE FROM entries'))
    await expect(write).rejects.toThrow(/readonly/)
  })

  it('makes no file', async () => {
    await expect(readInboxFile(join(directory, 'b.db'), () => 1)).rejects.toMatchObject({
      code: 'ERR_INBOX_IO',
    })
    expect(await readdir(directory)).not.toContain('b.db')
  })
})
