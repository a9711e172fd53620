import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { CountersignError } from '../base/errors.js'
import { checkKnownOptions, durationOption, invalidOption } from '../base/option-checks.js'
import { isUuid } from '../base/uuid.js'
import type { EntryId } from '../callback/callback.js'
import type { ReceiverEvents } from '../events/event-channel.js'
import type { EntrySummary, InboxOperations } from './operations.js'
import type { InboxState } from './states.js'

/** What became of a callback that was waited for. */
export interface FinishedCallback {
  readonly state: Extract<InboxState, 'handled' | 'dead' | 'quarantined' | 'discarded'>
  /** Undefined without an inbox. */
  readonly entryId: EntryId | undefined
}

export interface WaitForOptions {
  /** How long to wait, in milliseconds. @default 4_000 */
  readonly timeoutMs?: number | undefined
}

interface WaitParts {
  /** Such as `receiver.waitFor`. */
  readonly owner: string
  readonly events: ReceiverEvents
  readonly inbox: Pick<InboxOperations, 'list'> | undefined
}

/** Another process may handle the entry, which publishes no event here. */
const LOOK_EVERY_MS = 20

/** @throws CountersignError ERR_WAIT_TIMEOUT, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; or the error of the inbox */
export async function waitForCallback(
  idempotencyKey: string,
  options: WaitForOptions,
  { owner, events, inbox }: WaitParts,
): Promise<FinishedCallback> {
  checkKnownOptions(owner, options, ['timeoutMs'])
  const timeoutMs = durationOption(owner, 'timeoutMs', options.timeoutMs, 4_000)
  if (typeof idempotencyKey !== 'string' || !isUuid(idempotencyKey))
    throw invalidOption(owner, 'idempotencyKey', idempotencyKey, 'pass the X-Idempotency-Key, a UUID')
  const key = idempotencyKey.toLowerCase()
  const late = (state: string) => {
    const message = `${owner}: callback ${key} ${state} after ${timeoutMs} ms. Wait longer, or look into the log.`
    return new CountersignError('ERR_WAIT_TIMEOUT', message)
  }
  return inbox ? look(inbox, key, timeoutMs, late) : listen(events, key, timeoutMs, late)
}

async function look(
  inbox: Pick<InboxOperations, 'list'>,
  idempotencyKey: string,
  timeoutMs: number,
  late: (state: string) => CountersignError,
): Promise<FinishedCallback> {
  const giveUpAt = performance.now() + timeoutMs
  for (;;) {
    const { entries } = await inbox.list({ idempotencyKey })
    const finished = endOf(entries)
    if (finished) return finished
    if (performance.now() >= giveUpAt) {
      const unfinished = entries.find(({ state }) => !(state in IS_END))
      throw late(unfinished ? `is ${unfinished.state}` : 'has not arrived')
    }
    await delay(LOOK_EVERY_MS)
  }
}

const IS_END: Partial<Record<InboxState, true>> = {
  handled: true,
  dead: true,
  quarantined: true,
  discarded: true,
} satisfies Record<FinishedCallback['state'], true>

/** The end of the callback itself; of a suspect copy only if there is nothing else. */
function endOf(entries: readonly EntrySummary[]): FinishedCallback | undefined {
  const own = entries.filter(({ state }) => state !== 'quarantined' && state !== 'discarded')
  const found = own.length > 0 ? own : entries
  if (!found.every(({ state }) => state in IS_END)) return undefined
  const last = found.at(-1)
  return last && { state: last.state as FinishedCallback['state'], entryId: last.id }
}

/** Without an inbox nothing is known of callbacks that were handled before. */
function listen(
  events: ReceiverEvents,
  key: string,
  timeoutMs: number,
  late: (state: string) => CountersignError,
): Promise<FinishedCallback> {
  return new Promise((resolve, reject) => {
    const onEnd = ({ callback }: { callback: { idempotencyKey: string } }): void => {
      if (callback.idempotencyKey !== key) return
      end()
      resolve({ state: 'handled', entryId: undefined })
    }
    const ends = [events.on('handled', onEnd), events.on('duplicate', onEnd)]
    const timer = setTimeout(() => {
      end()
      reject(late('was not handled'))
    }, timeoutMs)
    function end(): void {
      clearTimeout(timer)
      for (const unsubscribe of ends) unsubscribe()
    }
  })
}
