import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, invalidOption } from '../base/option-checks.js'
import type { BeginOnArrival, ClaimEnd, ClaimEntries, ClaimToken, SettledClaim } from './inbox.js'
import { checkFlag, checkWholeNumber } from './operation-checks.js'

// Workers call these operations for every callback. The checks of a call for 100 entries take less than a microsecond.

/** @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID */
export function checkClaim(request: ClaimEntries): void {
  const owner = 'inbox.claim'
  checkKnownOptions(owner, request, CLAIM_NAMES, { option: 'request', part: 'request' })
  const { eventTypes, limit, leaseMs, interrupted } = request
  if (eventTypes !== 'any') checkList(owner, 'eventTypes', eventTypes, isText, TYPES_CURE)
  checkWholeNumber(owner, 'limit', limit)
  checkWholeNumber(owner, 'leaseMs', leaseMs)
  checkFlag(owner, 'interrupted', interrupted)
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkBegin(begin: BeginOnArrival | undefined): void {
  if (begin !== undefined) checkWholeNumber('inbox.add', 'leaseMs', begin?.leaseMs)
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkClaims(owner: string, claims: readonly ClaimToken[], leaseMs: number): void {
  checkList(owner, 'claims', claims, isClaim, 'pass claims, each with its id and token')
  checkWholeNumber(owner, 'leaseMs', leaseMs)
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkEnds(ends: readonly SettledClaim[]): void {
  checkList('inbox.settle', 'ends', ends, isSettledClaim, END_CURE)
}

function checkList<Item>(
  owner: string,
  name: string,
  list: readonly Item[],
  isItem: (item: Item) => boolean,
  cure: string,
): void {
  if (!Array.isArray(list)) throw invalidOption(owner, name, list, `use a list; ${cure}`)
  if (list.every(isItem)) return
  const wrong = list.findIndex((item) => !isItem(item))
  throw invalidOption(owner, { option: name, part: `${name}[${wrong}]` }, list[wrong], cure)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isClaim(claim: Partial<ClaimToken> | null | undefined): boolean {
  return typeof claim?.id === 'string' && typeof claim.token === 'number'
}

function isSettledClaim(settled: Partial<SettledClaim> | null | undefined): boolean {
  return isClaim(settled?.claim) && isEnd(settled?.end)
}

function isEnd(end: ClaimEnd | null | undefined): boolean {
  if (end?.move === 'complete' || end?.move === 'handBack') return true
  if (end?.move === 'deadLetter') return typeof end.error === 'string'
  return end?.move === 'reschedule' && typeof end.error === 'string' && isDelay(end.delayMs)
}

/** With NaN no time would be stored, and the entry would never be due. */
function isDelay(delayMs: number): boolean {
  return Number.isSafeInteger(delayMs) && delayMs >= 0
}

const TYPES_CURE = 'pass event types, or "any" in place of the list'
const END_CURE =
  'pass ends, each with its claim and its end: a move, with an error unless it is complete or handBack, and with a delayMs to reschedule'

const CLAIM_NAMES = [
  'eventTypes',
  'limit',
  'leaseMs',
  'interrupted',
] as const satisfies readonly (keyof ClaimEntries)[]
void (true satisfies HasAll<keyof ClaimEntries, typeof CLAIM_NAMES>)
