import type { EventChannel } from '../events/event-channel.js'
import type { LifecycleEventName } from '../events/lifecycle-events.js'
import type { Inbox } from './inbox.js'
import type { InboxOperations, OperatorAction } from './operations.js'

const PUBLISHED_AS = {
  retry: 'retried',
  release: 'released',
  discard: 'discarded',
  undo: 'undone',
} as const satisfies Record<OperatorAction, LifecycleEventName>

/**
 * The operations of an inbox whose owner opens and closes it, and publishes what operators do. Undefined if the inbox lacks one
 * of the operations. `onDue` is called after each action. A discard may make an entry due as well: the next one of its order key.
 */
export function publishedOperations(
  inbox: Inbox & Partial<InboxOperations>,
  events: EventChannel,
  onDue: () => void,
): InboxOperations | undefined {
  if (!hasOperations(inbox)) return undefined
  return {
    retentionMs: inbox.retentionMs,
    discardedRetentionMs: inbox.discardedRetentionMs,
    open: () => inbox.open(),
    stats: () => inbox.stats(),
    list: (filter, page) => inbox.list(filter, page),
    search: (filter, page) => inbox.search(filter, page),
    count: (filter, max) => inbox.count(filter, max),
    activity: (request) => inbox.activity(request),
    show: (id) => inbox.show(id),
    related: (id) => inbox.related(id),
    prune: (request) => inbox.prune(request),
    async act(id, action, by, options) {
      const result = await inbox.act(id, action, by, options)
      if (!result.done) return result
      onDue()
      const reason = options?.reason
      events.publish(PUBLISHED_AS[action], { entry: id, by, ...(reason !== undefined && { reason }) })
      return result
    },
    // The owner still uses the inbox.
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
