import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import type { Claim, ClaimRequest, IdempotencyStore } from '../idempotency/store.js'
import { globalFramework, type TestFramework } from './test-framework.js'

export interface StoreUnderTest {
  /** An empty store with the requested `retentionMs`. */
  readonly store: IdempotencyStore
  /** Advances the store's clock by so many milliseconds, or waits for this time. */
  readonly advance: (ms: number) => Promise<void> | void
}

/**
 * Registers the tests that every `IdempotencyStore` must pass.
 *
 * `createStore` is called once for each test. A store without a replaceable clock may wait in `advance`: all waits
 * together take less than a minute. A store that has `open` is opened before its test, and one that has `close` is closed
 * after it.
 */
export function registerIdempotencyStoreTests(
  createStore: (context: { retentionMs: number }) => Promise<StoreUnderTest> | StoreUnderTest,
  framework: TestFramework = globalFramework('registerIdempotencyStoreTests'),
): void {
  const { describe } = framework

  const it = (name: string, test: (subject: StoreUnderTest) => Promise<void>, retentionMs = LONG) =>
    framework.it(name, async () => {
      const subject = await createStore({ retentionMs })
      try {
        await subject.store.open?.()
        await test(subject)
      } finally {
        await subject.store.close?.()
      }
    })

  describe('an idempotency store', () => {
    it('can be opened several times', async ({ store }) => {
      await store.open?.()
      assert.equal(await stateOf(store, createDelivery()), 'claimed')
      await store.open?.()
    })

    it('tells how long it remembers', async ({ store }) => {
      assert.equal(store.retentionMs, LONG)
    })

    describe('of concurrent callers', () => {
      it('gives a key to exactly one', async ({ store }) => {
        const delivery = createDelivery()
        const states = await statesOf(store, copies(300, delivery))
        assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
      })

      it('gives a key to exactly one when each has signed anew', async ({ store }) => {
        const delivery = createDelivery()
        const states = await statesOf(
          store,
          Array.from({ length: 300 }, () => signedAnew(delivery)),
        )
        assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
      })

      it('gives a key to exactly one when bodies differ', async ({ store }) => {
        const { key } = createDelivery()
        const states = await statesOf(
          store,
          Array.from({ length: 300 }, () => ({ ...createDelivery(), key })),
        )
        assert.deepEqual(countEach(states), { claimed: 1, conflict: 299 })
      })

      it('gives a signature to exactly one when keys differ', async ({ store }) => {
        const delivery = createDelivery()
        const states = await statesOf(
          store,
          Array.from({ length: 300 }, () => underAnotherKey(delivery)),
        )
        assert.deepEqual(countEach(states), { claimed: 1, replay: 299 })
      })

      it('gives a released key to exactly one', async ({ store }) => {
        const delivery = createDelivery()
        await (await claimed(store, delivery)).release()
        const states = await statesOf(store, copies(300, delivery))
        assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
      })

      it('gives a key whose lease ran out to exactly one', async ({ store, advance }) => {
        const delivery = createDelivery({ leaseMs: SHORT })
        await claimed(store, delivery)
        await advance(SHORT)
        const states = await statesOf(store, copies(300, { ...delivery, leaseMs: LONG }))
        assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
      })

      it('gives different keys to all', async ({ store }) => {
        const states = await statesOf(
          store,
          Array.from({ length: 300 }, () => createDelivery()),
        )
        assert.deepEqual(countEach(states), { claimed: 300 })
      })
    })

    describe('while a claim is held', () => {
      it('says in-progress to the same delivery', async ({ store }) => {
        const delivery = createDelivery()
        await claimed(store, delivery)
        assert.equal(await stateOf(store, delivery), 'in-progress')
      })

      it('says in-progress to a delivery that was signed anew', async ({ store }) => {
        const delivery = createDelivery()
        await claimed(store, delivery)
        assert.equal(await stateOf(store, signedAnew(delivery)), 'in-progress')
      })

      it('says conflict to another body under the key', async ({ store }) => {
        const delivery = createDelivery()
        await claimed(store, delivery)
        assert.equal(await stateOf(store, withAnotherBody(delivery)), 'conflict')
      })

      it('says replay to the signature under another key', async ({ store }) => {
        const delivery = createDelivery()
        await claimed(store, delivery)
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
      })

      it('says replay to the signature of a later delivery under another key', async ({ store }) => {
        const delivery = createDelivery()
        await claimed(store, delivery)
        const retry = signedAnew(delivery)
        await store.claim(retry)
        assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
      })

      it('says conflict where replay is true as well', async ({ store }) => {
        const delivery = createDelivery()
        const other = createDelivery()
        await claimed(store, delivery)
        await claimed(store, other)
        assert.equal(await stateOf(store, { ...delivery, key: other.key }), 'conflict')
      })

      it('says replay to the signature under a key that is in progress with the same body', async ({
        store,
      }) => {
        const delivery = createDelivery()
        const sameBody = underAnotherKey(signedAnew(delivery))
        await claimed(store, delivery)
        await claimed(store, sameBody)
        assert.equal(await stateOf(store, { ...sameBody, signature: delivery.signature }), 'replay')
      })

      it('does not take what it refused for a delivery', async ({ store }) => {
        const delivery = createDelivery()
        await claimed(store, delivery)
        const conflict = withAnotherBody(delivery)
        await store.claim(conflict)
        const replay = underAnotherKey(delivery)
        await store.claim(replay)
        assert.equal(await stateOf(store, underAnotherKey(conflict)), 'claimed')
        assert.equal(await stateOf(store, { ...createDelivery(), key: replay.key }), 'claimed')
      })

      it('lets the same body pass under another key', async ({ store }) => {
        const delivery = createDelivery()
        await claimed(store, delivery)
        assert.equal(await stateOf(store, underAnotherKey(signedAnew(delivery))), 'claimed')
      })

      it('lets the same idempotency key and body pass for another subscription', async ({ store }) => {
        const [delivery, other] = [createDelivery(), createDelivery()]
        const idempotencyKey = delivery.key.split('@', 1)[0]
        await claimed(store, { ...delivery, key: `${idempotencyKey}@tenant-1` })
        const ofOther = { ...other, key: `${idempotencyKey}@tenant-2`, bodyHash: delivery.bodyHash }
        assert.equal(await stateOf(store, ofOther), 'claimed')
      })

      it('keeps keys of thousands of characters apart', async ({ store }) => {
        const long = 'k'.repeat(3000)
        await claimed(store, createDelivery({ key: `${long}1` }))
        assert.equal(await stateOf(store, createDelivery({ key: `${long}2` })), 'claimed')
      })
    })

    describe('once a claim is completed', () => {
      it('says so to the one who completes it', async ({ store }) => {
        assert.equal(await (await claimed(store, createDelivery())).complete(), true)
      })

      it('says completed to the same delivery', async ({ store }) => {
        const delivery = await completed(store)
        assert.equal(await stateOf(store, delivery), 'completed')
      })

      it('says completed to a delivery that was signed anew', async ({ store }) => {
        const delivery = await completed(store)
        assert.equal(await stateOf(store, signedAnew(delivery)), 'completed')
      })

      it('says conflict to another body under the key', async ({ store }) => {
        const delivery = await completed(store)
        assert.equal(await stateOf(store, withAnotherBody(delivery)), 'conflict')
      })

      it('says replay to the signature under another key', async ({ store }) => {
        const delivery = await completed(store)
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
      })

      it('says conflict where replay is true as well', async ({ store }) => {
        const delivery = await completed(store)
        const other = await completed(store)
        assert.equal(await stateOf(store, { ...delivery, key: other.key }), 'conflict')
      })

      it('says replay to the signature under a key that is completed with the same body', async ({
        store,
      }) => {
        const delivery = await completed(store)
        const sameBody = await completed(store, underAnotherKey(signedAnew(delivery)))
        assert.equal(await stateOf(store, { ...sameBody, signature: delivery.signature }), 'replay')
      })

      it('says replay to the signature of a delivery that came while it was in progress', async ({
        store,
      }) => {
        const delivery = createDelivery()
        const claim = await claimed(store, delivery)
        const retry = signedAnew(delivery)
        await store.claim(retry)
        await claim.complete()
        assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
      })

      it('says replay to the signature of a delivery that came afterwards', async ({ store }) => {
        const delivery = await completed(store)
        const retry = signedAnew(delivery)
        await store.claim(retry)
        assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
        assert.equal(await stateOf(store, delivery), 'completed')
      })

      it('stays completed when it is released afterwards', async ({ store }) => {
        const delivery = createDelivery()
        const claim = await claimed(store, delivery)
        await claim.complete()
        await claim.release()
        assert.equal(await stateOf(store, delivery), 'completed')
      })

      it('stays completed beyond the lease', async ({ store, advance }) => {
        const delivery = await completed(store, createDelivery({ leaseMs: SHORT }))
        await advance(SHORT * 2)
        assert.equal(await stateOf(store, delivery), 'completed')
      })
    })

    describe('once a claim is released', () => {
      it('lets the key be claimed again at once', async ({ store }) => {
        const delivery = createDelivery()
        await (await claimed(store, delivery)).release()
        assert.equal(await stateOf(store, delivery), 'claimed')
      })

      it('has forgotten the body', async ({ store }) => {
        const delivery = createDelivery()
        await (await claimed(store, delivery)).release()
        assert.equal(await stateOf(store, withAnotherBody(delivery)), 'claimed')
      })

      // Otherwise a captured delivery that is sent with a new key, and fails, would block the genuine one.
      it('has forgotten the signature', async ({ store }) => {
        const delivery = createDelivery()
        await (await claimed(store, underAnotherKey(delivery))).release()
        assert.equal(await stateOf(store, delivery), 'claimed')
      })

      it('has forgotten the signature of a delivery that came while it was in progress', async ({
        store,
      }) => {
        const delivery = createDelivery()
        const claim = await claimed(store, delivery)
        const retry = signedAnew(delivery)
        await store.claim(retry)
        await claim.release()
        assert.equal(await stateOf(store, underAnotherKey(retry)), 'claimed')
      })

      it('lets it not complete what somebody else holds since', async ({ store }) => {
        const delivery = createDelivery()
        const first = await claimed(store, delivery)
        await first.release()
        const second = await claimed(store, delivery)
        assert.equal(await first.complete(), false)
        assert.equal(await stateOf(store, delivery), 'in-progress')
        assert.equal(await second.complete(), true)
      })

      it('lets it not release what somebody else holds since', async ({ store }) => {
        const delivery = createDelivery()
        const first = await claimed(store, delivery)
        await first.release()
        await claimed(store, delivery)
        await first.release()
        assert.equal(await stateOf(store, delivery), 'in-progress')
      })
    })

    describe('once a lease has run out', () => {
      it('has held the key until then', async ({ store, advance }) => {
        const delivery = createDelivery({ leaseMs: SHORT * 2 })
        await claimed(store, delivery)
        await advance(SHORT)
        assert.equal(await stateOf(store, delivery), 'in-progress')
      })

      it('gives the key to the next who asks', async ({ store, advance }) => {
        const { delivery } = await abandoned(store, advance)
        assert.equal(await stateOf(store, delivery), 'claimed')
      })

      it('gives the key to another body', async ({ store, advance }) => {
        const { delivery } = await abandoned(store, advance)
        assert.equal(await stateOf(store, withAnotherBody(delivery)), 'claimed')
      })

      it('gives the signature to another key', async ({ store, advance }) => {
        const { delivery } = await abandoned(store, advance)
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'claimed')
      })

      it('gives the signature of a later delivery to another key', async ({ store, advance }) => {
        const delivery = createDelivery({ leaseMs: SHORT })
        await claimed(store, delivery)
        const retry = signedAnew(delivery)
        await store.claim(retry)
        await advance(SHORT)
        assert.equal(await stateOf(store, underAnotherKey(retry)), 'claimed')
      })

      it('keeps the late finisher from completing what somebody else holds', async ({ store, advance }) => {
        const { delivery, claim } = await abandoned(store, advance)
        const second = await claimed(store, { ...delivery, leaseMs: LONG })
        assert.equal(await claim.complete(), false)
        assert.equal(await stateOf(store, delivery), 'in-progress')
        assert.equal(await second.complete(), true)
      })

      it('keeps the late finisher from overwriting what somebody else has completed', async ({
        store,
        advance,
      }) => {
        const { delivery, claim } = await abandoned(store, advance)
        const other = withAnotherBody(delivery)
        await completed(store, other)
        assert.equal(await claim.complete(), false)
        assert.equal(await stateOf(store, other), 'completed')
        assert.equal(await stateOf(store, delivery), 'conflict')
      })

      it('keeps the late finisher from completing what somebody else has released', async ({
        store,
        advance,
      }) => {
        const { delivery, claim } = await abandoned(store, advance)
        await (await claimed(store, delivery)).release()
        assert.equal(await claim.complete(), false)
        assert.equal(await stateOf(store, delivery), 'claimed')
      })

      it('keeps the late finisher from releasing what somebody else holds', async ({ store, advance }) => {
        const { delivery, claim } = await abandoned(store, advance)
        await claimed(store, { ...delivery, leaseMs: LONG })
        await claim.release()
        assert.equal(await stateOf(store, delivery), 'in-progress')
      })

      it('keeps the late finisher from releasing a signature that another key holds', async ({
        store,
        advance,
      }) => {
        const { delivery, claim } = await abandoned(store, advance)
        await claimed(store, { ...underAnotherKey(delivery), leaseMs: LONG })
        await claim.release()
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
      })

      it('lets the late finisher complete when nobody has taken the key since', async ({
        store,
        advance,
      }) => {
        const { delivery, claim } = await abandoned(store, advance)
        assert.equal(await claim.complete(), true)
        assert.equal(await stateOf(store, delivery), 'completed')
        assert.equal(await stateOf(store, withAnotherBody(delivery)), 'conflict')
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
      })

      it('lets the late finisher release when nobody has taken the key since', async ({ store, advance }) => {
        const { delivery, claim } = await abandoned(store, advance)
        await claim.release()
        assert.equal((await claimed(store, delivery)).attempt, 2)
      })
    })

    describe('counts attempts', () => {
      it('from 1', async ({ store }) => {
        assert.equal((await claimed(store, createDelivery())).attempt, 1)
      })

      it('on after a release', async ({ store }) => {
        const delivery = createDelivery()
        await (await claimed(store, delivery)).release()
        await (await claimed(store, delivery)).release()
        assert.equal((await claimed(store, delivery)).attempt, 3)
      })

      it('on after a lease that ran out', async ({ store, advance }) => {
        const { delivery } = await abandoned(store, advance)
        assert.equal((await claimed(store, delivery)).attempt, 2)
      })

      it('not for those who do not get the claim', async ({ store }) => {
        const delivery = createDelivery()
        const claim = await claimed(store, delivery)
        await store.claim(delivery)
        await store.claim(withAnotherBody(delivery))
        await claim.release()
        assert.equal((await claimed(store, delivery)).attempt, 2)
      })

      it('not back when a lost claim is released', async ({ store, advance }) => {
        const { delivery, claim } = await abandoned(store, advance)
        await (await claimed(store, delivery)).release()
        await claim.release()
        assert.equal((await claimed(store, delivery)).attempt, 3)
      })

      it('of each key by itself', async ({ store }) => {
        await (await claimed(store, createDelivery())).release()
        assert.equal((await claimed(store, createDelivery())).attempt, 1)
      })
    })

    describe('remembers what is completed for its retention', () => {
      it(
        'and not less',
        async ({ store, advance }) => {
          const delivery = await completed(store)
          await advance(RETENTION / 2)
          assert.equal(await stateOf(store, delivery), 'completed')
        },
        RETENTION,
      )

      it(
        'counted from the completion, not from the claim',
        async ({ store, advance }) => {
          const delivery = createDelivery()
          const claim = await claimed(store, delivery)
          await advance(RETENTION * 0.75)
          await claim.complete()
          await advance(RETENTION / 2)
          assert.equal(await stateOf(store, delivery), 'completed')
          assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
        },
        RETENTION,
      )

      it(
        'counted from the latest delivery that was signed anew',
        async ({ store, advance }) => {
          const retry = signedAnew(await completed(store))
          await advance(RETENTION * 0.75)
          await store.claim(retry)
          await advance(RETENTION / 2)
          assert.equal(await stateOf(store, retry), 'completed')
          assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
        },
        RETENTION,
      )

      it(
        'and then lets the key be claimed again',
        async ({ store, advance }) => {
          const delivery = await completed(store)
          await advance(RETENTION * 1.1)
          assert.equal(await stateOf(store, withAnotherBody(delivery)), 'claimed')
        },
        RETENTION,
      )

      it(
        'and then lets the signature be claimed again',
        async ({ store, advance }) => {
          const delivery = await completed(store)
          await advance(RETENTION * 1.1)
          assert.equal(await stateOf(store, underAnotherKey(delivery)), 'claimed')
        },
        RETENTION,
      )
    })
  })
}

/** Longer than a test takes against a slow store. */
const LONG = 600_000
/** Short enough to wait for. */
const SHORT = 500
const RETENTION = 2000

function createDelivery(parts: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    key: `${randomUUID()}@https://partner.example.com/hooks/transfers`,
    bodyHash: random44Characters(),
    signature: random44Characters(),
    leaseMs: LONG,
    ...parts,
  }
}

const copies = (count: number, delivery: ClaimRequest) => Array.from({ length: count }, () => delivery)

const signedAnew = (delivery: ClaimRequest) => ({ ...delivery, signature: random44Characters() })

const underAnotherKey = (delivery: ClaimRequest) => ({ ...delivery, key: createDelivery().key })

/** The signature covers the body, so it differs as well. */
const withAnotherBody = (delivery: ClaimRequest) => ({ ...createDelivery(), key: delivery.key })

const random44Characters = () => createHash('sha256').update(randomUUID()).digest('base64')

async function claimed(store: IdempotencyStore, delivery: ClaimRequest): Promise<Claim> {
  const result = await store.claim(delivery)
  assert.equal(result.state, 'claimed')
  return result.claim
}

async function completed(store: IdempotencyStore, delivery = createDelivery()): Promise<ClaimRequest> {
  assert.equal(await (await claimed(store, delivery)).complete(), true)
  return delivery
}

async function abandoned(store: IdempotencyStore, advance: StoreUnderTest['advance']) {
  const delivery = createDelivery({ leaseMs: SHORT })
  const claim = await claimed(store, delivery)
  await advance(SHORT)
  return { delivery, claim }
}

const stateOf = async (store: IdempotencyStore, delivery: ClaimRequest) => (await store.claim(delivery)).state

const statesOf = (store: IdempotencyStore, deliveries: ClaimRequest[]) =>
  Promise.all(deliveries.map((delivery) => stateOf(store, delivery)))

function countEach(states: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const state of states) counts[state] = (counts[state] ?? 0) + 1
  return counts
}
