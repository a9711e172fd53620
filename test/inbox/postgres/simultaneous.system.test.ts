import { createHash } from 'node:crypto'
import { setImmediate as nextTick } from 'node:timers/promises'
import fc from 'fast-check'
import type { AddResult, Arrival, ClaimedEntry } from '../../../src/inbox/engine.js'
import { MemoryInbox } from '../../support/whole-inbox.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'
import { randomRuns } from '../../support/random-runs.js'

const START = Date.UTC(2026, 10, 3, 9, 14, 27)

// Few keys, bodies and signatures, for them to meet.
const anyArrival = fc
  .record({
    idempotencyKey: fc.constantFrom('key 1', 'key 2'),
    body: fc.constantFrom('{"a":1}', '{"a":2}'),
    signed: fc.nat({ max: 2 }),
    type: fc.constantFrom('a', 'b'),
    suspicion: fc.constantFrom(undefined, undefined, undefined, 'stale'),
    orderKey: fc.constantFrom(undefined, undefined, 'x', 'y'),
  })
  .map(({ signed, ...given }) => {
    const signature = createHash('sha256').update(String(signed)).digest('base64')
    // A signature has but one time, because the time is part of what is signed.
    return arrival({ ...given, signature, signedAt: new Date(START + signed), receivedAt: new Date(START) })
  })

/** An arrival at one of two inboxes, so many ticks after the first one. */
interface Delivery {
  readonly arrival: Arrival
  readonly at: number
  readonly ticks: number
}

const anyDeliveries = fc
  .array(
    fc.record({
      arrival: anyArrival,
      ats: fc.constantFrom([0], [1], [0, 1], [0, 1]),
      ticks: fc.nat({ max: 3 }),
    }),
    { minLength: 2, maxLength: 4 },
  )
  .map((given) => given.flatMap(({ ats, ...each }): Delivery[] => ats.map((at) => ({ ...each, at }))))

const ALL = { eventTypes: 'any', limit: 100, leaseMs: 60_000 } as const

// Few types and order keys, and many entries.
const anyNew = fc.record({
  type: fc.constantFrom('a', 'b'),
  orderKey: fc.constantFrom(undefined, undefined, 'x', 'y'),
})

const anyClaim = fc.record({
  eventTypes: fc.constantFrom('any' as const, ['a'], ['b'], ['a', 'b']),
  limit: fc.integer({ min: 1, max: 3 }),
  at: fc.nat({ max: 1 }),
  ticks: fc.nat({ max: 3 }),
})

describeWithAnyDatabase('two pools', (database) => {
  let inboxes: readonly PostgresInbox[]
  let schema: string
  beforeAll(async () => {
    schema = await database.emptySchema()
    await withFakeClock(database, schema, START)
  })
  beforeEach(async () => {
    inboxes = [database.inboxOn(schema), database.inboxOn(schema)]
    await Promise.all(inboxes.map((inbox) => inbox.open()))
  })
  const memoryInbox = () => new MemoryInbox({ clock: () => START })

  it('store what arrives at the same time as MemoryInbox does in some order', async () => {
    const earlier = fc.array(anyArrival, { maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(earlier, anyDeliveries, async (before, deliveries) => {
        await database.emptySchema()
        const first = await addAll(inboxes[0]!, before)
        const answered: number[] = []
        const results = await Promise.all(
          deliveries.map(async ({ at, ticks, arrival: each }, index) => {
            for (let tick = 0; tick < ticks; tick++) await nextTick()
            return inboxes[at]!.add(each).finally(() => answered.push(index))
          }),
        )
        const actual = await outcome(inboxes[1]!, [...first, ...results])
        // The order of the answers is most often a possible one.
        for (const order of ordersOf(deliveries, results, answered)) {
          const memory = memoryInbox()
          const inOrder = new Map<Delivery, AddResult>()
          const expectedFirst = await addAll(memory, before)
          for (const delivery of order) inOrder.set(delivery, await memory.add(delivery.arrival))
          const expected = deliveries.map((delivery) => inOrder.get(delivery)!)
          if ((await outcome(memory, [...expectedFirst, ...expected])) === actual) return
        }
        throw new Error(`in no order does MemoryInbox answer: ${actual}`)
      }),
      { numRuns: randomRuns(60) },
    )
  }, 120_000)

  // In no order: a claim passes over entries that another one has locked, and that this one may not take in the end.
  it('give what is due once to claims at the same time, and leave the rest to the next claim', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyNew, { minLength: 1, maxLength: 12 }),
        fc.array(anyClaim, { minLength: 2, maxLength: 5 }),
        async (given, requests) => {
          await database.emptySchema()
          const memory = memoryInbox()
          const arrivals = given.map((each) => arrival({ ...each, receivedAt: new Date(START) }))
          for (const inbox of [inboxes[0]!, memory]) await addAll(inbox, arrivals)
          const claims = await Promise.all(
            requests.map(async ({ at, ticks, ...request }) => {
              for (let tick = 0; tick < ticks; tick++) await nextTick()
              return { request, entries: (await inboxes[at]!.claim({ ...request, leaseMs: 60_000 })).entries }
            }),
          )
          for (const { request, entries } of claims) {
            expect(entries.length).toBeLessThanOrEqual(request.limit)
            for (const { callback } of entries)
              if (request.eventTypes !== 'any') expect(request.eventTypes).toContain(callback.type)
          }
          const rest = await inboxes[0]!.claim(ALL)
          const claimed = [...claims.flatMap(({ entries }) => entries), ...rest.entries]
          const expected = (await memory.claim(ALL)).entries
          expect(claimed.map(keyOf).sort()).toEqual(expected.map(keyOf).sort())
          expect(rest.entries.map(keyOf)).toEqual(
            expected.map(keyOf).filter((key) => rest.entries.map(keyOf).includes(key)),
          )
          // Whichever inbox ends them.
          const ends = claimed.map((claim) => ({ claim, end: { move: 'complete' } as const }))
          const held = await Promise.all(ends.flatMap((end) => inboxes.map((inbox) => inbox.settle([end]))))
          expect(held.flatMap((ids) => [...ids]).sort()).toEqual(claimed.map(({ id }) => id).sort())
        },
      ),
      { numRuns: randomRuns(60) },
    )
  }, 120_000)
})

function keyOf({ callback }: ClaimedEntry): string {
  return callback.idempotencyKey
}

async function addAll(inbox: WholeInbox, arrivals: readonly Arrival[]): Promise<AddResult[]> {
  const results: AddResult[] = []
  for (const each of arrivals) results.push(await inbox.add(each))
  return results
}

/** The results, the entries, and what these have in common, as text. An id is replaced by the place of the first result that has it. */
async function outcome(inbox: WholeInbox, results: readonly AddResult[]): Promise<string> {
  const ids = results.map(({ id }) => id)
  const name = (id: string) => ids.indexOf(id)
  const byName = (a: { id: string }, b: { id: string }) => name(a.id) - name(b.id)
  const entries = (await inbox.list({})).entries.sort(byName)
  const related = await Promise.all(entries.map(async ({ id }) => (await inbox.related(id)).sort(byName)))
  return JSON.stringify({ results, entries, related }, (key, value: unknown) => {
    if (key === 'id' && ids.includes(String(value))) return name(String(value))
    return typeof value === 'string' ? value.replace(/(?<=entry )\d+/, (id) => String(name(id))) : value
  })
}

/** Every order of the deliveries in `left`. Of two with the same arrival and result, the first one comes first. */
function* ordersOf(
  deliveries: readonly Delivery[],
  results: readonly AddResult[],
  left: readonly number[],
): Generator<Delivery[]> {
  if (left.length === 0) return void (yield [])
  const tried = new Set<string>()
  for (const index of left) {
    const { key, bodyHash, signature } = deliveries[index]!.arrival
    const same = JSON.stringify([deliveries[index]!.arrival, key, bodyHash, signature, results[index]])
    if (tried.has(same)) continue
    tried.add(same)
    const others = left.filter((each) => each !== index)
    for (const order of ordersOf(deliveries, results, others)) yield [deliveries[index]!, ...order]
  }
}
