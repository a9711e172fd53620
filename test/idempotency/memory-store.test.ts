import { createHash, randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import {
  MemoryIdempotencyStore,
  type MemoryIdempotencyStoreOptions,
} from '../../src/idempotency/memory-store.js'
import type { ClaimRequest } from '../../src/idempotency/store.js'
import type { Logger } from '../../src/logging/logger.js'
import { registerIdempotencyStoreTests } from '../../src/testing/idempotency-store-tests.js'

registerIdempotencyStoreTests(({ retentionMs }) => {
  const { store, time } = createStore({ retentionMs })
  return { store, advance: (ms) => void (time.now += ms) }
})

// The patrol that ends abandoned claims, and the removal of what has expired, come into play only with other traffic.
describe('beside other traffic', () => {
  registerIdempotencyStoreTests(({ retentionMs }) => {
    const { store, time } = createStore({ retentionMs })
    const advance = async (ms: number) => {
      time.now += ms
      for (let i = 0; i < 20; i++) await complete(store, createDelivery())
    }
    return { store, advance }
  })
})

describe('MemoryIdempotencyStore', () => {
  it('remembers for 48 hours by default', () => {
    expect(new MemoryIdempotencyStore().retentionMs).toBe(48 * 60 * 60 * 1000)
  })

  it('ends a lease after its time although the clock was set back, and not before', async () => {
    const { store, time } = createStore({})
    const delivery = { ...createDelivery(), leaseMs: 60_000 }
    await store.claim(delivery)
    time.now -= 3_600_000
    expect(await store.claim(delivery)).toEqual({ state: 'in-progress' })
    time.now += 59_999
    expect(await store.claim(delivery)).toEqual({ state: 'in-progress' })
    time.now += 1
    expect(await store.claim(delivery)).toMatchObject({ state: 'claimed', claim: { attempt: 2 } })
  })

  it('takes an explicit undefined for an option that is absent', () => {
    const absent = { retentionMs: undefined, maxKeys: undefined, clock: undefined, logger: undefined }
    expect(new MemoryIdempotencyStore(absent).retentionMs).toBe(172_800_000)
  })

  it.each([
    [{ retentionMs: 0 }, 'retentionMs is 0'],
    [{ retentionMs: '48h' }, 'retentionMs is "48h"'],
    [{ retentionMs: Infinity }, 'retentionMs is Infinity'],
    [{ maxKeys: 0 }, 'maxKeys is 0'],
    [{ maxKeys: 1.5 }, 'maxKeys is 1.5'],
    [{ maxKeys: 100_000_001 }, 'maxKeys is 100000001'],
    [{ clock: 5 }, 'clock is 5'],
    [{ logger: {} }, 'logger is of type object'],
  ])('refuses %j', (options, message) => {
    const create = () => new MemoryIdempotencyStore(options as unknown as MemoryIdempotencyStoreOptions)
    expect(create).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
    expect(create).toThrow(message)
  })

  it('refuses an option that it does not know', () => {
    const create = () => new MemoryIdempotencyStore({ maxkeys: 5 } as MemoryIdempotencyStoreOptions)
    expect(create).toThrow(expect.objectContaining({ code: 'ERR_OPTION_UNKNOWN' }))
  })

  it.each([
    ['a body hash that is too short', { bodyHash: 'AAAA' }],
    ['a signature in hex', { signature: 'ab'.repeat(10) }],
    ['a lease of nothing', { leaseMs: 0 }],
    ['a lease of NaN', { leaseMs: NaN }],
  ])('refuses a claim with %s, and takes nothing', async (_, parts) => {
    const { store } = createStore()
    const delivery = createDelivery()
    expect(() => store.claim({ ...delivery, ...parts })).toThrow(TypeError)
    expect(await stateOf(store, delivery)).toBe('claimed')
  })

  it('shows neither keys nor signatures when inspected', async () => {
    const { store } = createStore()
    const delivery = createDelivery()
    const result = await store.claim(delivery)
    const shown = inspect({ store, result }, { depth: 10, showHidden: true })
    expect(shown).not.toContain(delivery.key)
    expect(shown).not.toContain(delivery.signature)
    expect(shown).not.toContain(delivery.bodyHash)
  })

  it('says true again to whoever completes twice', async () => {
    const { store } = createStore()
    const claim = await claimOf(store, createDelivery())
    await claim.complete()
    expect(await claim.complete()).toBe(true)
  })

  it('does not complete a claim that was released', async () => {
    const { store } = createStore()
    const delivery = createDelivery()
    const claim = await claimOf(store, delivery)
    await claim.release()
    expect(await claim.complete()).toBe(false)
    expect(await stateOf(store, delivery)).toBe('claimed')
  })

  it('counts attempts from 1 once the completed key is forgotten', async () => {
    const { store, time } = createStore()
    const delivery = createDelivery()
    await (await claimOf(store, delivery)).release()
    await complete(store, delivery)
    time.now += store.retentionMs
    expect((await claimOf(store, delivery)).attempt).toBe(1)
  })

  it('forgets the attempts of a key that is not claimed again within the retention', async () => {
    const { store, time } = createStore()
    const delivery = createDelivery()
    await (await claimOf(store, delivery)).release()
    time.now += store.retentionMs
    expect((await claimOf(store, delivery)).attempt).toBe(1)
  })

  it('remembers the attempts of the 10,000 keys that were released last', async () => {
    const { store } = createStore()
    const deliveries = Array.from({ length: 10_001 }, () => createDelivery())
    for (const delivery of deliveries) await (await claimOf(store, delivery)).release()
    expect((await claimOf(store, deliveries[1]!)).attempt).toBe(2)
    expect((await claimOf(store, deliveries[0]!)).attempt).toBe(1)
  })

  it('lets an abandoned claim complete as long as it remembers it, among the last 10,000', async () => {
    const { store, time } = createStore()
    const first = await claimOf(store, createDelivery({ leaseMs: 1 }))
    const second = await claimOf(store, createDelivery({ leaseMs: 1 }))
    time.now += 1
    for (let i = 0; i < 9_999; i++) await (await claimOf(store, createDelivery())).release()
    expect(await first.complete()).toBe(false)
    expect(await second.complete()).toBe(true)
  })

  it('still knows both keys when a signature went to another one after a lease had run out', async () => {
    const { store, time } = createStore()
    const delivery = createDelivery({ leaseMs: 1 })
    const other = createDelivery({ bodyHash: delivery.bodyHash, signature: delivery.signature })
    const late = await claimOf(store, delivery)
    time.now += 1
    const taken = await claimOf(store, other)
    expect(await late.complete()).toBe(true)
    expect(await taken.complete()).toBe(true)
    expect(await stateOf(store, delivery)).toBe('completed')
    expect(await stateOf(store, other)).toBe('completed')
  })

  it('keeps what it has completed when the clock is set back', async () => {
    const { store, time } = createStore({ retentionMs: 1000 })
    const before = await complete(store, createDelivery())
    time.now -= 10_000
    const after = await complete(store, createDelivery())
    time.now += 10_999
    expect(await stateOf(store, before)).toBe('completed')
    expect(await stateOf(store, after)).toBe('completed')
    time.now += 1
    expect(await stateOf(store, before)).toBe('claimed')
  })

  describe('with more than maxKeys', () => {
    it('forgets the oldest', async () => {
      const { store } = createStore({ maxKeys: 3 })
      const deliveries = Array.from({ length: 4 }, () => createDelivery())
      for (const delivery of deliveries) await complete(store, delivery)
      expect(await stateOf(store, deliveries[1]!)).toBe('completed')
      expect(await stateOf(store, deliveries[3]!)).toBe('completed')
      expect(await stateOf(store, deliveries[0]!)).toBe('claimed')
    })

    it('warns of keys forgotten early, with the cure', async () => {
      const { store, warnings } = createStore({ maxKeys: 3 })
      for (let i = 0; i < 4; i++) await complete(store, createDelivery())
      expect(warnings).toEqual([
        {
          fields: { code: 'WARN_KEYS_FORGOTTEN_EARLY', forgotten: 1, maxKeys: 3 },
          message: expect.stringContaining('Raise maxKeys, or use a durable store'),
        },
      ])
    })

    it('warns at most once a minute, of all since the last time', async () => {
      const { store, time, warnings } = createStore({ maxKeys: 3 })
      for (let i = 0; i < 10; i++) await complete(store, createDelivery())
      time.now += 59_999
      await complete(store, createDelivery())
      expect(warnings).toHaveLength(1)
      time.now += 1
      await complete(store, createDelivery())
      expect(warnings.map(({ fields }) => fields)).toMatchObject([{ forgotten: 1 }, { forgotten: 8 }])
    })

    it('warns again when the clock has been set back', async () => {
      const { store, time, warnings } = createStore({ maxKeys: 3 })
      for (let i = 0; i < 4; i++) await complete(store, createDelivery())
      time.now -= 3_600_000
      await complete(store, createDelivery())
      expect(warnings).toHaveLength(2)
    })

    it('does not warn when the oldest had expired', async () => {
      const { store, time, warnings } = createStore({ maxKeys: 3 })
      for (let i = 0; i < 3; i++) await complete(store, createDelivery())
      time.now += store.retentionMs
      for (let i = 0; i < 3; i++) await complete(store, createDelivery())
      expect(warnings).toEqual([])
    })
  })
})

function createStore(options: MemoryIdempotencyStoreOptions = {}) {
  const time = { now: Date.parse('2025-11-21T09:00:00Z') }
  const warnings: { fields: object; message: string }[] = []
  const unexpected = () => {
    throw new Error('only warnings are expected')
  }
  const warn = (fields: object, message: string) => void warnings.push({ fields, message })
  const logger: Logger = { debug: unexpected, info: unexpected, warn, error: unexpected }
  const store = new MemoryIdempotencyStore({ clock: () => time.now, logger, ...options })
  return { store, time, warnings }
}

const createDelivery = (parts: Partial<ClaimRequest> = {}): ClaimRequest => ({
  key: randomUUID(),
  bodyHash: random32Bytes(),
  signature: random32Bytes(),
  leaseMs: 30_000,
  ...parts,
})

const random32Bytes = () => createHash('sha256').update(randomUUID()).digest('base64')

const stateOf = async (store: MemoryIdempotencyStore, delivery: ClaimRequest) =>
  (await store.claim(delivery)).state

async function claimOf(store: MemoryIdempotencyStore, delivery: ClaimRequest) {
  const result = await store.claim(delivery)
  if (result.state !== 'claimed') throw new Error(`expected a claim, not ${result.state}`)
  return result.claim
}

async function complete(store: MemoryIdempotencyStore, delivery: ClaimRequest) {
  await (await claimOf(store, delivery)).complete()
  return delivery
}

describe('when the clock of the machine is set', () => {
  afterEach(() => jest.restoreAllMocks())

  it('a week ahead, it goes on remembering what was handled', async () => {
    let now = Date.now()
    // Before the store is made, which may keep the function.
    jest.spyOn(Date, 'now').mockImplementation(() => now)
    const store = new MemoryIdempotencyStore({ retentionMs: 86_400_000 })
    const request = {
      key: 'key',
      bodyHash: hashOf('body'),
      signature: hashOf('signature'),
      leaseMs: 60_000,
    }
    const claimed = await store.claim(request)
    if (claimed.state === 'claimed') await claimed.claim.complete()
    now += 7 * 86_400_000
    await store.claim({ ...request, key: 'other', signature: hashOf('other') })
    expect(await store.claim(request)).toEqual({ state: 'completed' })
  })
})

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
