import { checkKnownOptions, invalidOption } from '../base/option-checks.js'
import type { ReceiverEvents, StepEvents } from '../events/event-channel.js'
import { INBOX } from '../inbox/inbox.js'
import type { ReadInbox } from './inbox-metrics.js'

/** A receiver or a worker. */
export interface ObservedProcess {
  readonly events: ReceiverEvents
  readonly [INBOX]?: ReadInbox | undefined
}

export interface ObserveOptions {
  /**
   * Names its inbox in the metrics. If two receivers of a process have different inboxes, give them different names.
   * @default 'default'
   */
  readonly inbox?: string | undefined
}

/** The name of the inbox. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function inboxName(owner: string, options: ObserveOptions): string {
  checkKnownOptions(owner, options, ['inbox'])
  const { inbox = 'default' } = options
  if (typeof inbox === 'string' && inbox !== '') return inbox
  throw invalidOption(owner, 'inbox', inbox, 'use a name, such as "payments"')
}

/** What every receiver and every worker is. */
export interface CheckedProcess extends ObservedProcess {
  readonly events: StepEvents
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkObserved(owner: string, target: ObservedProcess): CheckedProcess {
  const { events } = (target ?? {}) as Partial<ObservedProcess>
  if (typeof events?.around === 'function') return target as CheckedProcess
  throw invalidOption(owner, 'observed', target, 'pass a receiver or a worker')
}
