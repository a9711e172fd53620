import type { Claim, ClaimResult } from '../idempotency/store.js'

/** The answer of a store, which may be code of the application. @throws TypeError */
export function checkedClaimResult(answer: unknown): ClaimResult {
  if (isClaimResult(answer)) return answer
  throw new TypeError('the idempotency store gave no known answer')
}

export function isClaimResult(answer: unknown): answer is ClaimResult {
  const { state, claim } = (answer ?? {}) as { state?: unknown; claim?: Partial<Claim> }
  if (state === 'claimed') return typeof claim?.complete === 'function' && typeof claim.release === 'function'
  return state === 'completed' || state === 'in-progress' || state === 'conflict' || state === 'replay'
}
