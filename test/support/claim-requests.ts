import { createHash, randomUUID } from 'node:crypto'
import type { Claim, ClaimRequest, IdempotencyStore } from '../../src/idempotency/store.js'

/** What a receiver asks a store for a callback, with a key, a body and a signature of its own. */
export const claimRequest = (parts: Partial<ClaimRequest> = {}): ClaimRequest => ({
  key: `${randomUUID()}@https://partner.example.com/hooks/transfers`,
  bodyHash: digest(randomUUID()),
  signature: digest(randomUUID()),
  leaseMs: 60_000,
  ...parts,
})

/** 32 bytes in Base64. */
export const digest = (text: string): string => createHash('sha256').update(text).digest('base64')

export async function claimOf(store: IdempotencyStore, request: ClaimRequest): Promise<Claim> {
  const result = await store.claim(request)
  if (result.state !== 'claimed') throw new Error(`expected a claim, not ${result.state}`)
  return result.claim
}

export async function completed(store: IdempotencyStore, request: ClaimRequest): Promise<ClaimRequest> {
  if (!(await (await claimOf(store, request)).complete())) throw new Error('the claim was lost')
  return request
}

export const stateOf = async (store: IdempotencyStore, request: ClaimRequest) =>
  (await store.claim(request)).state
