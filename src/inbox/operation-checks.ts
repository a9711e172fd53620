import { types } from 'node:util'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, integerOption, invalidOption, isRecord, kindOf } from '../base/option-checks.js'
import type { EntryId } from '../callback/callback.js'
import type { PruneEntries } from './operations.js'
import { NO_ENTRIES } from './states.js'
import type { ActOptions, EntryFilter, EntryPage, OperatorAction, SeenEntry } from './operations.js'
import { PRUNABLE, type InboxState } from './states.js'

export const ACTIONS = ['retry', 'release', 'discard', 'undo'] as const satisfies readonly OperatorAction[]

/**
 * A part of a filter that was silently ignored would change what an operation is about: a misspelled name finds entries that it was
 * to leave out, and a misspelled state finds nothing.
 * @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID
 */
function checkFilter(owner: string, filter: EntryFilter): void {
  checkKnownOptions(owner, filter, FILTER_NAMES, { option: 'filter', part: 'filter' })
  checkStates(owner, filter.states)
  for (const name of FILTER_TEXTS) checkText(owner, name, filter[name], 'pass a text')
  for (const name of FILTER_TIMES) {
    const time: unknown = filter[name]
    if (
      time === undefined ||
      ((typeof time === 'number' || types.isDate(time)) && !Number.isNaN(Number(time)))
    )
      continue
    throw invalidOption(
      owner,
      name,
      time,
      'use a date, or milliseconds since 1970 such as those of Date.now()',
    )
  }
}

/** @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID */
export function checkPage(owner: string, filter: EntryFilter, page: EntryPage): void {
  checkFilter(owner, filter)
  checkKnownOptions(owner, page, PAGE_NAMES, { option: 'page', part: 'page' })
  checkText(owner, 'afterId', page.afterId, ID_CURE)
  if (page.limit !== undefined) checkWholeNumber(owner, 'limit', page.limit)
  checkFlag(owner, 'newestFirst', page.newestFirst)
}

/** @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID */
export function checkCount(filter: EntryFilter, max: number): void {
  const owner = 'inbox.count'
  checkFilter(owner, filter)
  checkWholeNumber(owner, 'max', max)
}

/** A text that no entry has as its id is not refused. @throws CountersignError ERR_OPTION_INVALID */
export function checkId(owner: string, id: EntryId): void {
  if (typeof id !== 'string') throw invalidOption(owner, 'id', id, ID_CURE)
}

/**
 * A misspelled `dryRun` would delete, and so would the name of a state whose entries are never deleted.
 * @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID
 */
export function checkPrune(request: PruneEntries): void {
  const owner = 'inbox.prune'
  checkKnownOptions(owner, request, PRUNE_NAMES, { option: 'request', part: 'request' })
  if (!PRUNABLE.includes(request.state))
    throw invalidOption(owner, 'state', request.state, `use ${PRUNABLE.join(' or ')}`)
  checkWholeNumber(owner, 'limit', request.limit)
  const { olderThanMs = 0 } = request
  if (!(typeof olderThanMs === 'number' && olderThanMs >= 0))
    throw invalidOption(owner, 'olderThanMs', olderThanMs, 'use a number of milliseconds of at least 0')
  checkFlag(owner, 'dryRun', request.dryRun)
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkAction(owner: string, action: OperatorAction): void {
  if (!ACTIONS.includes(action)) throw invalidOption(owner, 'action', action, `use ${ACTIONS.join(', ')}`)
}

/** All but the reason. @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID */
export function checkActOptions(owner: string, options: ActOptions): void {
  checkKnownOptions(owner, options, ACT_NAMES)
  checkFlag(owner, 'again', options.again)
  checkSeen(owner, options.expected)
}

function checkStates(owner: string, states: readonly InboxState[] | undefined): void {
  if (states === undefined) return
  const cure = `pass a list of states, which are ${STATES.join(', ')}`
  if (!Array.isArray(states)) throw invalidOption(owner, 'states', states, cure)
  const wrong = states.findIndex((state: unknown) => !(STATES as readonly unknown[]).includes(state))
  if (wrong !== -1)
    throw invalidOption(owner, { option: 'states', part: `states[${wrong}]` }, states[wrong], cure)
}

/** Another type, such as a date in JSON, would make every entry one that has changed. */
function checkSeen(owner: string, expected: SeenEntry | undefined): void {
  if (expected === undefined) return
  const isSeen =
    isRecord(expected) &&
    typeof expected.state === 'string' &&
    typeof expected.attempts === 'number' &&
    (expected.finishedAt === undefined || types.isDate(expected.finishedAt))
  const cure = 'pass an entry as list or show return it, with state, attempts and finishedAt'
  if (!isSeen) throw invalidOption(owner, 'expected', expected, cure, kindOf(expected))
}

/** A number that is required. */
function checkWholeNumber(owner: string, name: string, value: number): void {
  integerOption(owner, name, value, { fallback: NaN, min: 0 })
}

function checkText(owner: string, name: string, value: unknown, cure: string): void {
  if (value !== undefined && typeof value !== 'string') throw invalidOption(owner, name, value, cure)
}

function checkFlag(owner: string, name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean')
    throw invalidOption(owner, name, value, 'use true or false')
}

const ID_CURE = 'pass the id of an entry, which is a text'

const STATES = Object.keys(NO_ENTRIES) as readonly InboxState[]

const FILTER_TEXTS = ['eventType', 'idempotencyKey', 'bodyId', 'subscriptionId', 'reason'] as const
const FILTER_TIMES = ['before', 'after'] as const
const FILTER_NAMES = [
  'states',
  ...FILTER_TEXTS,
  ...FILTER_TIMES,
] as const satisfies readonly (keyof EntryFilter)[]

const PAGE_NAMES = ['afterId', 'limit', 'newestFirst'] as const satisfies readonly (keyof EntryPage)[]

const PRUNE_NAMES = [
  'state',
  'limit',
  'olderThanMs',
  'dryRun',
] as const satisfies readonly (keyof PruneEntries)[]

const ACT_NAMES = ['again', 'reason', 'expected'] as const satisfies readonly (keyof ActOptions)[]

void (true satisfies HasAll<OperatorAction, typeof ACTIONS>)
void (true satisfies HasAll<keyof EntryFilter, typeof FILTER_NAMES>)
void (true satisfies HasAll<keyof EntryPage, typeof PAGE_NAMES>)
void (true satisfies HasAll<keyof PruneEntries, typeof PRUNE_NAMES>)
void (true satisfies HasAll<keyof ActOptions, typeof ACT_NAMES>)
