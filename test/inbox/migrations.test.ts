import { MIGRATIONS, SCHEMA_VERSION } from '../../src/inbox/sqlite/schema.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { inboxFile, openAside } from '../support/sqlite-file.js'

/** A file as the first version left it: entry 1 was handled, 2 and 3 are copies in quarantine. */
async function fileOfVersion1(): Promise<string> {
  const file = inboxFile()
  const database = await openAside(file)
  database.exec(`${MIGRATIONS[0]!}; PRAGMA user_version = 1; PRAGMA application_id = 0x4353494e`)
  const insert = database.prepare(`
    INSERT INTO entries (state, known, event_type, idempotency_key, key_hash, body_hash, signature, ready, signed_at,
      received_at, finished_at, reason, subscribed_type, callback_url, body)
    VALUES (?, ?, 'a.b', 'key', x'01', x'02', ?, 0, ?, ?, ?, ?, 'a.b', 'https://partner.example.com/', x'7b7d')`)
  const at = Date.UTC(2026, 10, 3)
  insert.run('handled', 1, Buffer.from('first'), at, at, at, null)
  const conflict = 'its idempotency key is that of entry 1, which has another body'
  insert.run('quarantined', 0, Buffer.from('second'), at, at, null, conflict)
  const replay = 'its signature is that of entry 1, which has another idempotency key'
  insert.run('quarantined', 0, Buffer.from('first'), at, at, null, replay)
  database.prepare('INSERT INTO more_signatures VALUES (?, 1)').run(Buffer.from('anew'))
  database.close()
  return file
}

it('a file of the first version is brought up to date, with what is in it', async () => {
  const file = await fileOfVersion1()
  const clock = fakeClock(Date.UTC(2026, 10, 3))
  const inbox = new SqliteInbox({ file, clock, retentionMs: 1000 })
  await inbox.open()
  expect(await inbox.list({})).toMatchObject([
    { id: 1, state: 'handled' },
    { id: 2, reason: expect.stringMatching(/^ERR_IDEMPOTENCY_KEY_REUSED: conflict, its idempotency key is/) },
    {
      id: 3,
      reason: expect.stringMatching(/^ERR_SIGNATURE_REPLAYED: replay, its signature is that of entry 1/),
    },
  ])
  expect(await inbox.related(3)).toMatchObject([{ id: 1 }, { id: 2 }])
  clock.advance(1001)
  await inbox.add(arrival({ signedAt: new Date(clock()) }))
  expect(await inbox.prune('handled', Infinity, 10)).toBe(1)
  await inbox.close()

  const database = await openAside(file)
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION })
  expect(database.prepare('SELECT count(*) AS count FROM more_signatures').get()).toEqual({ count: 0 })
  database.close()
})
