import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAside } from '../support/sqlite-file.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { lastSigned } from '../../src/inbox/sqlite/last-signed.js'
import { readInboxFile } from '../../src/inbox/sqlite/read-inbox-file.js'
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
}

/** Stores what the service would have signed so; returns the entry's number. */
async function store(
  secret: string,
  timestamp: string,
  { suspicion, ...other }: StoreOptions = {},
): Promise<string> {
  const subscription = { ...SUBSCRIPTION, ...other }
  const rawBody = Buffer.from(`{"Id":"${count++}"}`)
  const authorization = signCallback({ ...subscription, secret, timestamp, body: rawBody })
  const { id } = await inbox.add({
    callback: {
      type: subscription.eventTypeName,
      idempotencyKey: `key-${count}`,
      signedAt: new Date(timestamp),
      receivedAt: new Date(Date.UTC(2026, 10, 20)),
      rawBody,
      subscription: { id: 'a', ...subscription },
      secretFingerprint: secretFingerprint(hmacKey(secret)),
    },
    key: `key-${count}`,
    bodyHash: hashBody(rawBody),
    signature: authorization.replace('HMAC-SHA256 Signature=', ''),
    suspicion,
  })
  return id
}

async function look(secrets: readonly string[] = [OLD, NEW]) {
  const report = await readInboxFile(join(directory, 'a.db'), (db) =>
    lastSigned(
      db,
      secrets.map((secret) => ({ ...SUBSCRIPTION, secret })),
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

  it('goes by the time of signing: a captured delivery that is sent again makes no secret look used', async () => {
    await store(OLD, 'Wed, 04 Nov 2026 09:14:27 GMT')
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { suspicion: 'too old' })
    expect((await look()).seen[0]).toBe('2026-11-04T09:14:27.000Z')
  })

  it('finds one that is kept when later ones have been deleted', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    const later = await store(OLD, 'Sun, 08 Nov 2026 09:14:27 GMT')
    const database = await openAside(join(directory, 'a.db'))
    database.prepare('DELETE FROM entries WHERE id = ?').run(later)
    database.close()
    expect((await look()).seen[0]).toBe('2026-11-03T09:14:27.000Z')
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

  it('tells the callback URLs of one type apart, which one secret may sign for', async () => {
    const here = 'https://partner.example.com/hooks/here'
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT', { callbackUrl: here })
    const secrets = [
      { ...SUBSCRIPTION, secret: OLD },
      { ...SUBSCRIPTION, callbackUrl: here, secret: OLD },
    ]
    const report = await readInboxFile(join(directory, 'a.db'), (db) => lastSigned(db, secrets))
    expect(report!.seen).toEqual([undefined, expect.objectContaining({ entryId: '1' })])
  })

  it('finds one secret for every subscription that has it', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    expect((await look([OLD, OLD])).seen).toEqual(['2026-11-03T09:14:27.000Z', '2026-11-03T09:14:27.000Z'])
  })
})

describe('readInboxFile', () => {
  const file = () => join(directory, 'a.db')

  it('sees what is committed while the inbox is open', async () => {
    await store(OLD, 'Tue, 03 Nov 2026 09:14:27 GMT')
    expect((await look([OLD])).entries).toBe(1)
    await store(NEW, 'Wed, 04 Nov 2026 09:14:27 GMT')
    expect((await look([OLD])).entries).toBe(2)
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
