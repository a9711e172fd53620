import type { ClaimRecords } from './claim-records.js'
import { abortRun, type Run } from './run.js'
import type { WorkerParts } from './worker-parts.js'

/** Renews the leases of all runs. Aborts the handlers of those whose leases were lost or may end. Never rejects. */
export async function renewLeases(
  running: Iterable<Run>,
  records: ClaimRecords,
  { leaseMs, logger, environment }: Pick<WorkerParts, 'leaseMs' | 'logger' | 'environment'>,
): Promise<void> {
  const claims = Array.from(running, (run) => ({ run, entry: run.entry }))
  if (claims.length === 0) return
  const leaseEndsAt = environment.monotonic() + leaseMs
  const renewals = claims.map(async ({ entry }) => (await records.extend(entry)).has(entry.id))
  const failures: unknown[] = []
  for (const [index, renewal] of (await Promise.allSettled(renewals)).entries()) {
    const { run, entry } = claims[index]!
    if (renewal.status === 'rejected') {
      failures.push(renewal.reason)
      // Another process may reach the inbox and claim the entry. The handlers must have ended by then.
      if (run.leaseEndsAt - environment.monotonic() <= leaseMs / 3)
        abortRun(run, new Error('the lease of this entry runs out and could not be renewed'))
    } else if (run.entry !== entry) continue
    else if (renewal.value) run.leaseEndsAt = leaseEndsAt
    else {
      run.lost = true
      abortRun(run, new Error('the lease of this entry was lost: another worker handles it'))
    }
  }
  if (failures.length > 0) {
    const fields = { code: 'ERR_INBOX_UNAVAILABLE', err: failures[0] }
    logger.error(fields, 'leases could not be renewed')
  }
}
