import { InvalidArgumentError, type Command } from 'commander'
import type { EntryId } from '../../../callback/callback.js'
import type { EntryFilter, EntrySummary, InboxOperations } from '../../../inbox/operations.js'
import { NO_ENTRIES } from '../../../inbox/states.js'
import type { InboxState } from '../../../inbox/states.js'
import { someText } from '../../option-values.js'

export interface FilterFlags {
  readonly state?: InboxState[]
  readonly eventType?: string
  readonly key?: string
  readonly bodyId?: string
  readonly subscription?: string
  readonly reason?: string
  readonly olderThan?: number
  readonly newerThan?: number
}

/** How many entries are asked for at a time. */
export const PAGE = 500

export function addFilterOptions(command: Command): Command {
  return command
    .option('--state <states>', 'in these states, separated by commas', states)
    .option('--event-type <type>', 'of this event type', someText)
    .option('--key <uuid>', 'with this idempotency key', (key) => someText(key).toLowerCase())
    .option('--body-id <id>', 'with this Id in the body', someText)
    .option('--subscription <id>', 'of the subscription with this id', someText)
    .option(
      '--reason <text>',
      'whose reason contains this: a code, such as ERR_SIGNATURE_REPLAYED, or a part of it',
      someText,
    )
    .option('--older-than <age>', 'received longer ago than this', age)
    .option('--newer-than <age>', 'received since then', age)
}

export function filterOf(flags: FilterFlags): EntryFilter {
  const { state, eventType, key, bodyId, subscription, reason, olderThan, newerThan } = flags
  const now = Date.now()
  return {
    states: state,
    eventType,
    idempotencyKey: key,
    bodyId,
    subscriptionId: subscription,
    reason,
    before: olderThan === undefined ? undefined : now - olderThan,
    after: newerThan === undefined ? undefined : now - newerThan,
  }
}

export function hasFilter(flags: FilterFlags): boolean {
  return Object.values(filterOf(flags)).some((value) => value !== undefined)
}

/** Page by page: there may be a million. */
export async function* every(inbox: InboxOperations, filter: EntryFilter): AsyncGenerator<EntrySummary> {
  let afterId: EntryId | undefined
  do {
    const page = await inbox.list(filter, { afterId, limit: PAGE })
    yield* page.entries
    afterId = page.next
  } while (afterId !== undefined)
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function age(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined)
    throw new InvalidArgumentError(
      'Use a number and a unit: 90s, 30m, 2h, 7d. The number has at most six digits.',
    )
  return Number(count) * UNITS[unit!]!
}

function states(text: string): InboxState[] {
  const named = text.split(',').map((state) => state.trim())
  if (named.every((state) => Object.hasOwn(NO_ENTRIES, state))) return named as InboxState[]
  throw new InvalidArgumentError(`Use states separated by commas: ${Object.keys(NO_ENTRIES).join(', ')}.`)
}
