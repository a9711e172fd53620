import { invalidOption } from '../base/option-checks.js'
import type { EventSource } from '../events/event-channel.js'
import type { ReadInbox } from './inbox-metrics.js'

/** A receiver or a worker. */
export interface ObservedProcess {
  readonly events: EventSource
  readonly operations: ReadInbox | undefined
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkObserved(owner: string, target: ObservedProcess): ObservedProcess {
  const { events } = (target ?? {}) as Partial<ObservedProcess>
  if (typeof events?.subscribe === 'function') return target
  throw invalidOption(owner, 'observed', target, 'pass a receiver or a worker')
}
