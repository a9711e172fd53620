import assert from 'node:assert/strict'
import { randomUUID, createHash } from 'node:crypto'
import type { Claim, ClaimRequest, IdempotencyStore } from '../../idempotency/store.js'
import type { StoreUnderTest } from './suite.js'

/** Longer than a test takes against a slow store. */
export const LONG = 600_000
/** Short enough to wait for. */
export const SHORT = 500
export const RETENTION = 2000

export function createDelivery(parts: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    key: `${randomUUID()}@https://partner.example.com/hooks/transfers`,
    bodyHash: randomHash(),
    signature: randomHash(),
    leaseMs: LONG,
    ...parts,
  }
}

export const copies = (count: number, delivery: ClaimRequest) => Array.from({ length: count }, () => delivery)

export const signedAnew = (delivery: ClaimRequest) => ({ ...delivery, signature: randomHash() })

export const underAnotherKey = (delivery: ClaimRequest) => ({ ...delivery, key: createDelivery().key })

/** The signature covers the body, so it differs as well. */
export const withAnotherBody = (delivery: ClaimRequest) => ({ ...createDelivery(), key: delivery.key })

export async function claimed(store: IdempotencyStore, delivery: ClaimRequest): Promise<Claim> {
  const result = await store.claim(delivery)
  assert.equal(result.state, 'claimed')
  return result.claim
}

export async function completed(store: IdempotencyStore, delivery = createDelivery()): Promise<ClaimRequest> {
  assert.equal(await (await claimed(store, delivery)).complete(), true)
  return delivery
}

export async function abandoned(store: IdempotencyStore, advance: StoreUnderTest['advance']) {
  const delivery = createDelivery({ leaseMs: SHORT })
  const claim = await claimed(store, delivery)
  await advance(SHORT)
  return { delivery, claim }
}

export const stateOf = async (store: IdempotencyStore, delivery: ClaimRequest) =>
  (await store.claim(delivery)).state

export const statesOf = (store: IdempotencyStore, deliveries: ClaimRequest[]) =>
  Promise.all(deliveries.map((delivery) => stateOf(store, delivery)))

export function countEach(states: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const state of states) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

/** 32 bytes in Base64, as the hash of a body and a signature are: 44 characters. */
export function randomHash(): string {
  return createHash('sha256').update(randomUUID()).digest('base64')
}
