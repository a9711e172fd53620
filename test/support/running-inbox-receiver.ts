import type { EntryId } from '../../src/index.js'
import type { Entry, EntryFilter } from '../../src/inbox/operations.js'
import type { WholeInbox } from './whole-inbox.js'
import { MemoryInbox } from './whole-inbox.js'
import type { InboxState } from '../../src/inbox/states.js'
import { runReceiver, type RunningReceiver, type RunOptions } from './running-receiver.js'
import { becomes } from './running-worker.js'

export interface RunningInboxReceiver extends RunningReceiver {
  readonly inbox: WholeInbox
  /** What is in the inbox, by id. */
  entries(filter?: EntryFilter): Promise<Entry[]>
  /** Waits until the entry is in this state. */
  becomes(id: EntryId, state: InboxState): Promise<Entry>
}

export interface InboxRunOptions extends RunOptions {
  readonly inbox?: WholeInbox
  /** `false`: as when somebody forgot it. */
  readonly start?: boolean
}

const running: RunningReceiver[] = []
afterEach(() => Promise.all(running.splice(0).map(({ receiver }) => receiver.stop())))

/** A receiver with an inbox, in memory unless one is given, that listens and works until the test is over. */
export async function runInboxReceiver({
  inbox = new MemoryInbox(),
  start = true,
  ...options
}: InboxRunOptions = {}): Promise<RunningInboxReceiver> {
  const receiving = await runReceiver({ inbox, stopTimeoutMs: 50, pollMs: 5, ...options })
  running.push(receiving)
  if (start) await receiving.receiver.start()
  return {
    ...receiving,
    inbox,
    async entries(filter = {}) {
      const found = (await inbox.list(filter, { limit: 10_000 })).entries
      return Promise.all(found.map(async ({ id }) => (await inbox.show(id))!))
    },
    becomes: (id, state) => becomes(inbox, id, state),
  }
}
