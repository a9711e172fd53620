import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { arrival } from '../support/arrivals.js'
import { inboxFile, inboxOn, openAside } from '../support/sqlite-file.js'

const SIGNED_AT = new Date('2026-01-05T12:00:00Z')

/** Headers that repeat what the entry has, differ from entry to entry, or are the same for all. */
const headers = fc.array(
  fc.tuple(
    fc.constantFrom('Host', 'X-Idempotency-Key', 'X-Event-Type', 'Authorization-Timestamp', 'X-Request-Id'),
    fc.oneof(
      fc.constantFrom('KEY', 'TYPE', SIGNED_AT.toUTCString(), 'partner.example.com', '0', 'null', ''),
      fc.string({ maxLength: 5 }),
    ),
  ),
  { maxLength: 4 },
)

it('shows the headers, the key and the Id of the body of each entry as they arrived', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ headers, isCut: fc.boolean(), hasUpperCase: fc.boolean() }), {
        minLength: 1,
        maxLength: 8,
      }),
      async (callbacks) => {
        const inbox = inboxOn(inboxFile())
        const stored = []
        for (const { headers: given, isCut, hasUpperCase } of callbacks) {
          const [idempotencyKey, id] = [randomUUID(), randomUUID()]
          const { callback, ...rest } = arrival({ idempotencyKey, signedAt: SIGNED_AT })
          const values: Record<string, string> = {
            KEY: idempotencyKey,
            TYPE: callback.subscription.eventTypeName,
          }
          const pairs = given.map(([name, value]) => [name, values[value] ?? value] as const)
          const bodyId = hasUpperCase ? id.toUpperCase() : id
          const added = await inbox.add({ ...rest, callback, bodyId, headers: { pairs, isCut } })
          stored.push({ id: added.id, idempotencyKey, bodyId, headers: { pairs, isCut } })
        }
        for (const each of stored) {
          expect(await inbox.show(each.id)).toMatchObject(each)
          expect((await inbox.list({ bodyId: each.bodyId })).entries).toMatchObject([{ id: each.id }])
          const { entries } = await inbox.list({ idempotencyKey: each.idempotencyKey })
          expect(entries).toMatchObject([{ id: each.id }])
        }
        await inbox.close()
      },
    ),
    { numRuns: 40 },
  )
})

it('stores what entries have in common once', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  for (let number = 0; number < 5; number++) {
    const idempotencyKey = randomUUID()
    const pairs = [
      ['Host', 'partner.example.com'],
      ['X-Idempotency-Key', idempotencyKey],
      ['X-Request-Id', `${number}`],
    ] as const
    await inbox.add({ ...arrival({ idempotencyKey }), headers: { pairs, isCut: false } })
  }
  const database = await openAside(file)
  const rows = (sql: string) => database.prepare(sql).all()
  expect(rows('SELECT count(*) AS sources FROM sources')).toEqual([{ sources: 1 }])
  // The second entry showed that the value of a header differs.
  expect(rows('SELECT pairs FROM header_sets')).toEqual([
    { pairs: '["Host","partner.example.com","X-Idempotency-Key",0,"X-Request-Id","0"]' },
    { pairs: '["Host","partner.example.com","X-Idempotency-Key",0,"X-Request-Id",null]' },
  ])
  expect(rows('SELECT headers, length(idempotency_key) AS bytes FROM entries ORDER BY id LIMIT 2')).toEqual([
    { headers: null, bytes: 16 },
    { headers: '["1"]', bytes: 16 },
  ])
  database.close()
})

it('stores the headers of an entry whole once there are 200 sets', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  const adding = Array.from({ length: 205 }, (_, number) =>
    inbox.add({ ...arrival(), headers: { pairs: [[`X-${number}`, 'same']], isCut: false } }),
  )
  const ids = await Promise.all(adding)
  const database = await openAside(file)
  expect(database.prepare('SELECT count(*) AS sets FROM header_sets').get()).toEqual({ sets: 200 })
  database.close()
  expect((await inbox.show(ids.at(-1)!.id))?.headers?.pairs).toEqual([['X-204', 'same']])
})
