import { MemoryInbox } from './whole-inbox.js'
import type { WholeInbox } from './whole-inbox.js'
import { interposed } from './interposed-inbox.js'
import { work, type WorkOptions } from './running-worker.js'

/** A worker that has asked once, and found nothing, so that arrivals may begin. It does not ask again by itself. */
export async function idleWorker({
  inbox = new MemoryInbox(),
  ...options
}: WorkOptions & { inbox?: WholeInbox } = {}) {
  const between = interposed(inbox)
  const working = work({ inbox: between.inbox, pollMs: 2 ** 30, ...options })
  await working.worker.idle()
  const asked = { ...between.calls }
  const since = (name: keyof typeof asked) => between.calls[name] - asked[name]
  return { ...working, ...between, since }
}
