import { wrongOption } from '../base/option-checks.js'
import type { EntryId } from '../callback/callback.js'
import type { ActOptions, ActResult, OperatorDecision, RelatedEntry, SeenEntry } from './operations.js'
import { checkActOptions } from './operation-checks.js'
import { MOVES, type InboxState } from './states.js'

/** An action that was refused, and why. */
export type ActRefusal = Extract<ActResult, { done: false }>

interface ActedOn {
  readonly id: EntryId
  readonly state: InboxState
}

/**
 * Why an operator's decision on an entry is refused; undefined if it is possible. `related` are the entries that share its
 * idempotency key or a signature. If one of them was handled, or will be, it is the same callback: to handle this entry as well
 * would repeat its effect. `again` permits that.
 */
export function actionRefusal(
  action: OperatorDecision,
  entry: ActedOn,
  related: readonly RelatedEntry[],
  again: boolean,
): ActRefusal | undefined {
  const { id, state } = entry
  const from: readonly InboxState[] = MOVES[action].from
  if (action === 'retry' && state === 'unhandled') return refusal('state', unhandledRefusal(id))
  if (!from.includes(state))
    return refusal('state', `entry ${id} is ${state}; ${action} is for entries that are ${either(from)}`)
  if (action === 'discard' || again) return undefined
  if (state === 'handled')
    return refusal('repeat', `entry ${id} was handled; ${action} would handle it a second time`)
  return repeatRefusal(action, related)
}

/** Why the callback of an entry would be handled a second time; undefined if no related entry was handled or will be. */
export function repeatRefusal(
  action: Exclude<OperatorDecision, 'discard'>,
  related: readonly RelatedEntry[],
): ActRefusal | undefined {
  const other = STATES_THAT_FORBID[action]
    .map((forbidding) => related.find((each) => each.state === forbidding && each.accepted))
    .find((found) => found !== undefined)
  return other && refusal('repeat', relatedRefusal(other))
}

/** Why the decision is refused on an entry that has changed since the operator saw it; undefined if it has not. */
export function changedRefusal(
  { id, ...now }: ActedOn & SeenEntry,
  expected: SeenEntry | undefined,
): ActRefusal | undefined {
  if (
    !expected ||
    (expected.state === now.state &&
      expected.attempts === now.attempts &&
      expected.finishedAt?.getTime() === now.finishedAt?.getTime())
  )
    return undefined
  return refusal('changed', `entry ${id} is ${now.state}: it has changed since you saw it`)
}

/** Who decides, why, on which version of the entry, and whether the callback may be handled a second time. */
export interface Decision {
  readonly by: string
  readonly reason: string | undefined
  readonly again: boolean
  readonly expected: SeenEntry | undefined
}

/** @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID */
export function decisionOf(by: string, options: ActOptions = {}): Decision {
  checkActOptions('inbox.act', options)
  return {
    by: operatorName(by),
    reason: decisionReason(options),
    again: options.again ?? false,
    expected: options.expected,
  }
}

const MAX_NAME_LENGTH = 100

/** Whether the value is a name that the history of an entry may contain. */
export function isOperatorName(name: unknown): name is string {
  return nameProblem(name) === undefined
}

/**
 * Who decides, as it is written into the history.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function operatorName(by: unknown): string {
  const problem = nameProblem(by)
  if (problem === undefined) return by as string
  const cure = `pass a name of 1 to ${MAX_NAME_LENGTH} characters, without control or formatting characters`
  throw wrongOption('inbox.act', 'by', `by ${problem}: ${cure}.`)
}

function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return `is of type ${typeof name}`
  if (name.length > MAX_NAME_LENGTH) return `has ${name.length} characters`
  if (name.trim() === '') return 'is empty'
  // Control and formatting characters could make one name look like another.
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name) ? 'has control or formatting characters' : undefined
}

/** In characters. */
export const MAX_REASON_LENGTH = 500

/**
 * The reason of a decision, as it goes into the history: it is shown on terminals and in logs, line by line.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function decisionReason({ reason }: ActOptions): string | undefined {
  if (reason === undefined) return undefined
  const problem =
    typeof reason !== 'string'
      ? `is of type ${typeof reason}`
      : reason.length > MAX_REASON_LENGTH
        ? `has ${reason.length} characters`
        : /\p{Cc}/u.test(reason)
          ? 'has control characters'
          : undefined
  if (problem === undefined) return reason
  const cure = `pass a text of at most ${MAX_REASON_LENGTH} characters, without line feeds or other control characters`
  throw wrongOption('inbox.act', 'reason', `reason ${problem}: ${cure}.`)
}

export function missingRefusal(id: EntryId): ActRefusal {
  return refusal('not-found', `there is no entry ${id}`)
}

export function refusal(code: ActRefusal['code'], message: string): ActRefusal {
  return { done: false, code, message }
}

// A retry would change nothing: the entry is due already, and no worker has a handler for it.
function unhandledRefusal(id: EntryId): string {
  return (
    `entry ${id} is unhandled; a worker that has a handler for its event type claims it by itself, within pollMs: ` +
    'register one, or discard the entry'
  )
}

// The first match is named in the message. A copy of a dead letter is not released, because the dead letter itself can be
// retried under the key that its handlers know. A copy of a discarded entry is not released, because the decision covers it.
const STATES_THAT_FORBID: Readonly<Record<Exclude<OperatorDecision, 'discard'>, readonly InboxState[]>> = {
  retry: ['handled', 'running', 'retrying', 'stored', 'unhandled'],
  release: ['handled', 'running', 'retrying', 'stored', 'unhandled', 'dead', 'discarded'],
}

function relatedRefusal({ id, state, shares }: RelatedEntry): string {
  const what = {
    callback: 'the same callback is',
    signature: 'its signature is that of',
    key: 'its idempotency key is that of',
  }[shares]
  const cure = state === 'dead' ? ': retry that one, or discard it first' : ''
  return `${what} entry ${id}, ${state}${cure}`
}

function either(states: readonly InboxState[]): string {
  return states.join(', ').replace(/, (\w+)$/, ' or $1')
}
