import type { PruneEntries } from '../operations.js'
import { deletableBefore, type Retention } from '../retention.js'
import type { MemoryEntries } from './entries.js'
import type { MemoryEntry } from './memory-entry.js'

/** The entries that are to be deleted, the oldest first. */
export function entriesToPrune(
  entries: MemoryEntries,
  { state, limit, olderThanMs }: PruneEntries,
  retention: Retention,
  now: number,
): MemoryEntry[] {
  const times = { now, latestSignedAt: latestSignedAt(entries, now) }
  const end = deletableBefore({ state, olderThanMs }, times, retention)
  return [...entries.all.values()]
    .filter((entry) => entry.state === state)
    .filter(({ finishedAt, latestSignedAt }) => finishedAt! < end && latestSignedAt < end)
    .sort((a, b) => a.finishedAt! - b.finishedAt!)
    .slice(0, limit)
}

/** A time counts no further than its arrival: one that was signed far in the future must not set the second clock ahead. */
function latestSignedAt({ all }: MemoryEntries, now: number): number | undefined {
  let latest: number | undefined
  for (const { callback } of all.values()) {
    const signedAt = Number(callback.signedAt)
    if (signedAt > now) continue
    latest = Math.max(latest ?? -Infinity, Math.min(signedAt, Number(callback.receivedAt)))
  }
  return latest
}
