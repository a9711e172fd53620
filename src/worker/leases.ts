import { withTimeout } from '../base/timeout.js'
import type { Run } from './run.js'
import type { WorkerParts } from './worker-parts.js'

/** Renews the leases of all runs. Aborts the handlers of those whose leases were lost or may end. Never rejects. */
export async function renewLeases(
  running: Iterable<Run>,
  { inbox, leaseMs, logger }: Pick<WorkerParts, 'inbox' | 'leaseMs' | 'logger'>,
): Promise<void> {
  const claims = Array.from(running, (run) => ({ run, entry: run.entry }))
  if (claims.length === 0) return
  const leaseEndsAt = performance.now() + leaseMs
  try {
    const tokens = claims.map(({ entry }) => entry)
    const held = await withTimeout(inbox.extend(tokens, leaseMs), leaseMs / 3, 'the inbox')
    for (const { run, entry } of claims) {
      if (run.entry !== entry) continue
      if (held.has(entry.id)) run.leaseEndsAt = leaseEndsAt
      else {
        run.lost = true
        run.controller.abort(new Error('the lease of this entry was lost: another worker handles it'))
      }
    }
  } catch (error) {
    logger.error({ code: 'ERR_INBOX_UNAVAILABLE', err: error }, 'leases could not be renewed')
    // Another process may reach the inbox and claim the entry. The handlers must have ended by then.
    for (const { run } of claims) {
      if (run.leaseEndsAt - performance.now() > leaseMs / 3) continue
      run.controller.abort(new Error('the lease of this entry runs out and could not be renewed'))
    }
  }
}
