import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { EntryId } from '../../src/callback/callback.js'
import type { ClaimEnd, Claims, ClaimToken } from '../../src/inbox/engine.js'
import type { WholeInbox } from '../support/whole-inbox.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { describeWithAnyDatabase, withFakeTime } from '../support/postgres-inbox.js'
import { randomRuns } from '../support/random-runs.js'
import { inboxFile } from '../support/sqlite-file.js'

const START = Date.UTC(2026, 10, 3, 9, 14, 27)

const ENDS: readonly ClaimEnd[] = [
  { move: 'complete' },
  { move: 'reschedule', delayMs: 10, error: 'busy', code: 'ERR_HANDLER_FAILED' },
  { move: 'deadLetter', error: 'account is closed' },
  { move: 'handBack' },
]

// Few keys, bodies and signatures, for them to meet.
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('add' as const),
      idempotencyKey: fc.constantFrom('key 1', 'key 2', 'key 3'),
      body: fc.constantFrom('{"a":1}', '{"a":2}'),
      signed: fc.nat({ max: 5 }),
      type: fc.constantFrom('a', 'b'),
      suspicion: fc.constantFrom(undefined, undefined, 'stale'),
      orderKey: fc.constantFrom(undefined, 'x', 'y'),
      begins: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('claim' as const),
      eventTypes: fc.constantFrom('any' as const, [], ['a'], ['b'], ['a', 'b']),
      limit: fc.integer({ min: 0, max: 3 }),
      interrupted: fc.constantFrom(false, false, true),
      beginBelow: fc.constantFrom(0, 2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('finish' as const),
      claim: fc.nat(),
      end: fc.constantFrom(...ENDS),
    }),
  },
  fc.record({ does: fc.constant('extend' as const), claim: fc.nat() }),
  { weight: 2, arbitrary: fc.record({ does: fc.constant('begin' as const), claim: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('act' as const),
      entry: fc.nat(),
      action: fc.constantFrom('retry' as const, 'release' as const, 'discard' as const, 'undo' as const),
      again: fc.boolean(),
      reason: fc.constantFrom(undefined, 'by mistake'),
    }),
  },
  fc.record({ does: fc.constant('related' as const), entry: fc.nat() }),
  { weight: 2, arbitrary: fc.record({ does: fc.constant('show' as const), entry: fc.nat() }) },
  fc.record({
    does: fc.constant('search' as const),
    limit: fc.integer({ min: 1, max: 3 }),
    bodyId: fc.constantFrom(undefined, 'Id 1', 'Id 2'),
    states: fc.constantFrom(undefined, ['dead', 'stored'] as const, ['handled', 'discarded'] as const),
    newestFirst: fc.boolean(),
  }),
  fc.record({ does: fc.constant('activity' as const), bucketMs: fc.constantFrom(7, 50) }),
  fc.record({
    does: fc.constant('select' as const),
    reason: fc.constantFrom(undefined, 'REPLAY', 'conflict', 'stale', 'account'),
    states: fc.subarray(['stored', 'running', 'retrying', 'handled', 'dead', 'unhandled'] as const),
    newestFirst: fc.boolean(),
  }),
  fc.record({
    does: fc.constant('prune' as const),
    state: fc.constantFrom('handled' as const, 'discarded' as const),
  }),
  // Now and then the clock is set back.
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('wait' as const),
      // Five minutes: after them, types that no worker asks for count as unhandled.
      ms: fc.oneof(
        { weight: 5, arbitrary: fc.integer({ min: -10, max: 30 }) },
        fc.constantFrom(31_000, 301_000),
      ),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Type> ? Type : never

/** An inbox whose entries are named by the order in which they came, as SqliteInbox leaves gaps between its ids. */
class Subject {
  readonly #inbox: WholeInbox
  readonly #ids: EntryId[] = []
  readonly #claims: ClaimToken[] = []
  readonly #clock: () => number
  readonly #hasOptionalParts: boolean

  constructor(
    inbox: WholeInbox,
    { clock, hasOptionalParts }: Pick<Created & Options, 'clock' | 'hasOptionalParts'>,
  ) {
    this.#inbox = inbox
    this.#clock = clock
    this.#hasOptionalParts = hasOptionalParts
  }

  /** What it answers to a step, and what it then holds. */
  async after(given: Step): Promise<unknown> {
    const answer = await this.#do(given)
    const entries = await this.#inbox.list({}, { limit: 1_000 })
    const { counts, oldestUnfinishedAt } = await this.#inbox.stats()
    return this.#named({ answer, entries, stats: { counts, oldestUnfinishedAt } })
  }

  async #do(given: Step): Promise<unknown> {
    const claim = 'claim' in given ? this.#claims[given.claim % this.#claims.length] : undefined
    switch (given.does) {
      case 'add': {
        // A signature has but one time, as that is part of what is signed.
        const signature = createHash('sha256').update(String(given.signed)).digest('base64')
        const signedAt = new Date(START + given.signed * 15)
        const receivedAt = new Date(this.#clock())
        const parts = {
          bodyId: `Id ${given.body.charAt(5)}`,
          headers: { pairs: [['A', given.type]], isCut: false },
        } as const
        const added = await this.#inbox.add(
          { ...arrival({ ...given, signature, signedAt, receivedAt }), ...parts },
          given.begins ? { leaseMs: 20 } : undefined,
        )
        if (!this.#ids.includes(added.id)) this.#ids.push(added.id)
        if ('claim' in added && added.claim) this.#claims.push(added.claim)
        return added
      }
      case 'claim': {
        const { eventTypes, limit, interrupted, beginBelow } = given
        const request = { eventTypes, limit, interrupted, beginBelow, leaseMs: 20 }
        const claims = await this.#inbox.claim(request)
        this.#claims.push(...claims.entries)
        return this.#hasOptionalParts ? claims : withoutMoreIsDue(claims, limit)
      }
      case 'finish':
        return claim && (await this.#inbox.settle([{ claim, end: given.end }])).size
      case 'extend':
        return claim && (await this.#inbox.extend([claim], 20)).size
      case 'begin':
        return claim && (await this.#inbox.begin([claim], 20)).size
      case 'act': {
        const { action, again, reason } = given
        return this.#inbox.act(this.#idOf(given), action, 'ann', { again, reason })
      }
      case 'related':
        return this.#inbox.related(this.#idOf(given))
      case 'show':
        return this.#inbox.show(this.#idOf(given))
      case 'search': {
        const { limit, bodyId, states, newestFirst } = given
        const { entries } = await this.#inbox.list({ bodyId, states }, { limit, newestFirst })
        return { entries, count: await this.#inbox.count({ bodyId, states }, 2) }
      }
      case 'activity':
        return this.#inbox.activity({ from: START, to: START + 200, bucketMs: given.bucketMs })
      case 'select': {
        const { reason, states, newestFirst } = given
        return this.#inbox.list({ reason, states }, { newestFirst })
      }
      case 'prune':
        return this.#inbox.prune({ state: given.state, limit: 2 })
      case 'wait':
        return undefined
    }
  }

  #idOf({ entry }: { entry: number }): EntryId {
    return this.#ids[entry % this.#ids.length] ?? 'none'
  }

  #named(answer: unknown): unknown {
    const name = (id: unknown) => this.#ids.indexOf(String(id))
    const text = JSON.stringify(answer, (key, value: unknown) => {
      if (key === 'id') return name(value)
      // With which token an entry begins is up to the inbox.
      if (key === 'token' || (key === 'isOrdered' && !this.#hasOptionalParts)) return undefined
      return typeof value === 'string' ? value.replace(/(?<=entry )\d+/, (id) => String(name(id))) : value
    })
    return JSON.parse(text)
  }
}

function withoutMoreIsDue({ moreIsDue: _, nextDueInMs, ...claims }: Claims, limit: number): Claims {
  return claims.entries.length < limit ? { ...claims, nextDueInMs } : claims
}

it('SqliteInbox answers whatever it is asked as MemoryInbox does, which is simple enough to be seen through', async () => {
  await answersAsMemoryInbox(randomRuns(25), (options) => ({
    inbox: new SqliteInbox({ file: inboxFile(), ...options }),
    setTime: () => {},
    hasOptionalParts: true,
  }))
}, 60_000)

describeWithAnyDatabase('on a real server', (database) => {
  it('PostgresInbox does so as well', async () => {
    await answersAsMemoryInbox(randomRuns(6), async ({ clock, ...retention }) => {
      const schema = database.newSchema()
      const advance = await withFakeTime(database, schema, clock())
      const inbox = database.inboxOn(schema, retention)
      let time = clock()
      return {
        inbox,
        hasOptionalParts: false,
        setTime: async () => {
          // The inbox learns the time of the database from its own calls, so it makes one before and one after the change.
          await inbox.extend([], 1)
          await advance(clock() - time)
          await inbox.extend([], 1)
          time = clock()
        },
      }
    })
  }, 120_000)
})

interface Options {
  readonly clock: () => number
  readonly retentionMs: number
  readonly discardedRetentionMs: number
}

interface Created {
  readonly inbox: WholeInbox
  /** Gives the inbox the time of the clock, if it has one of its own. */
  readonly setTime: () => Promise<void> | void
  /** Whether claims have `isOrdered` and `moreIsDue`. */
  readonly hasOptionalParts: boolean
}

async function answersAsMemoryInbox(
  numRuns: number,
  create: (options: Options) => Promise<Created> | Created,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const clock = fakeClock(START)
      const options = { clock, retentionMs: 40, discardedRetentionMs: 1 }
      const { inbox, setTime, hasOptionalParts } = await create(options)
      const subject = (of: WholeInbox) => new Subject(of, { clock, hasOptionalParts })
      const [actual, expected] = [subject(inbox), subject(new MemoryInbox(options))]
      try {
        for (const each of steps) {
          if (each.does === 'wait') {
            clock.advance(each.ms)
            await setTime()
          }
          expect(await actual.after(each)).toEqual(await expected.after(each))
        }
      } finally {
        await inbox.close()
      }
    }),
    { numRuns },
  )
}
