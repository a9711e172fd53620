import type { EventChannel } from '../events/event-channel.js'
import type { Inbox, InboxOpener } from './inbox.js'
import type { InboxOperations } from './operations.js'

/** Publishes on `events` what operators decide, and calls `onDue` after each decision. */
export function decisionPublisher(events: EventChannel, onDue: () => void): InboxOpener {
  return {
    decided(id, action, by, reason) {
      onDue()
      events.publish('decided', { entryId: id, action, by, ...(reason !== undefined && { reason }) })
    },
  }
}

/** The operations of an inbox whose opener closes it. Undefined if the inbox lacks one of the operations. */
export function operationsFor(
  opener: InboxOpener,
  inbox: Inbox & Partial<InboxOperations>,
): InboxOperations | undefined {
  if (!hasOperations(inbox)) return undefined
  return {
    retentionMs: inbox.retentionMs,
    discardedRetentionMs: inbox.discardedRetentionMs,
    open: () => inbox.open(opener),
    stats: () => inbox.stats(),
    list: (filter, page) => inbox.list(filter, page),
    search: (filter, page) => inbox.search(filter, page),
    count: (filter, max) => inbox.count(filter, max),
    activity: (request) => inbox.activity(request),
    show: (id) => inbox.show(id),
    related: (id) => inbox.related(id),
    prune: (request) => inbox.prune(request),
    async act(id, action, by, options) {
      // The inbox tells only those that have opened it, and a receiver that was not started has not.
      await inbox.open(opener)
      return inbox.act(id, action, by, options)
    },
    // The opener still uses the inbox.
    close: async () => {},
  }
}

/** The methods that an inbox needs for operators, in addition to those for a receiver and a worker. */
export const OPERATIONS = Object.keys({
  stats: true,
  list: true,
  search: true,
  count: true,
  activity: true,
  show: true,
  related: true,
  act: true,
} satisfies Record<Exclude<keyof InboxOperations, keyof Inbox>, true>)

export function hasOperations(inbox: object): inbox is InboxOperations {
  return OPERATIONS.every((name) => typeof (inbox as Record<string, unknown>)[name] === 'function')
}
