import type { EventTypes } from '../engine.js'
import type { MemoryEntry } from './memory-entry.js'

/** The entries that are stored, running or retrying: when each is due, and which come first in the order of their keys. */
export class UnfinishedEntries {
  readonly #entries = new Set<MemoryEntry>()
  readonly #byOrderKey = new Map<string, Set<MemoryEntry>>()

  makeDue(entry: MemoryEntry, now: number, delayMs = 0): void {
    setDue(entry, now, delayMs)
    this.#entries.add(entry)
    const { orderKey } = entry
    if (orderKey === undefined) {
      entry.isReady = true
      return
    }
    const queue = this.#byOrderKey.get(orderKey) ?? new Set()
    this.#byOrderKey.set(orderKey, queue.add(entry))
    promoteNext(queue)
  }

  remove(entry: MemoryEntry): void {
    entry.dueAt = undefined
    entry.isReady = false
    this.#entries.delete(entry)
    const queue = entry.orderKey === undefined ? undefined : this.#byOrderKey.get(entry.orderKey)
    if (!queue) return
    queue.delete(entry)
    if (queue.size === 0) this.#byOrderKey.delete(entry.orderKey!)
    else promoteNext(queue)
  }

  /** The entries of these types that may be claimed once they are due. */
  ready(eventTypes: EventTypes): MemoryEntry[] {
    return [...this.#entries].filter(
      ({ isReady, callback }) => isReady && (eventTypes === 'any' || eventTypes.includes(callback.type)),
    )
  }

  /**
   * Counts delays and leases from now if they were set at a time that is still to come: the clock has been set back since.
   * Returns how far ahead the latest of them was set, in milliseconds.
   */
  setTimesAnew(now: number): number {
    let aheadMs = 0
    for (const entry of this.#entries) {
      if (entry.dueSetAt <= now) continue
      aheadMs = Math.max(aheadMs, entry.dueSetAt - now)
      setDue(entry, now, entry.dueAt! - entry.dueSetAt)
    }
    return aheadMs
  }
}

export function setDue(entry: MemoryEntry, now: number, delayMs: number): void {
  entry.dueAt = now + delayMs
  entry.dueSetAt = now
}

/** The oldest entry of an order key is ready. While another one is running, that one stays the only one. */
function promoteNext(queue: ReadonlySet<MemoryEntry>): void {
  const entries = [...queue]
  if (entries.some(({ state, isReady }) => isReady && state === 'running')) return
  const oldest = entries.reduce((a, b) => (a.sequence < b.sequence ? a : b))
  for (const entry of entries) entry.isReady = entry === oldest
}
