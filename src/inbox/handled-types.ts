import type { EventTypes } from './engine.js'

/** Stands for all event types, if a worker asked for any. No handler can be registered for an empty type. */
const ANY_TYPE = ''

/** When workers last asked for entries of a type, in milliseconds since 1970. */
export interface AskedType {
  readonly eventType: string
  readonly seenAt: number
}

/**
 * The event types that workers have handlers for, or `'any'`. A type counts if a worker asked for it at most five minutes
 * before the latest request of any worker. So the types stay known when all workers stop, and both versions count during a
 * rolling update. While no worker has ever asked, every type counts.
 */
export function handledTypes(asked: readonly AskedType[]): ReadonlySet<string> | 'any' {
  if (asked.length === 0) return 'any'
  const latest = asked.reduce((max, { seenAt }) => Math.max(max, seenAt), -Infinity)
  const types = new Set(
    asked.filter(({ seenAt }) => seenAt >= latest - VALID_MS).map(({ eventType }) => eventType),
  )
  return types.has(ANY_TYPE) ? 'any' : types
}

/** Decides when a process records again which types it asked for: each claim is on the hot path. */
export class AskedTypes {
  /** When each set of types was recorded last. */
  readonly #recordedAt = new Map<string, number>()

  /** The types to record now, or none. */
  toRecord(eventTypes: EventTypes, now: number): readonly string[] {
    const recordedAt = this.#recordedAt.get(keyOf(eventTypes))
    // The clock may have been set back.
    if (recordedAt !== undefined && now >= recordedAt && now < recordedAt + RECORD_EVERY_MS) return []
    return eventTypes === 'any' ? [ANY_TYPE] : eventTypes
  }

  /**
   * Whether they were recorded less than five minutes ago. If not, this process has just started, or the clock was set ahead or the
   * machine suspended: workers that run may not have asked since, and their types only seem to have no handler.
   */
  wereRecordedLately(eventTypes: EventTypes, now: number): boolean {
    const recordedAt = this.#recordedAt.get(keyOf(eventTypes))
    return recordedAt !== undefined && now < recordedAt + VALID_MS
  }

  /** To be called once they have been recorded, as the write may fail. */
  recorded(eventTypes: EventTypes, now: number): void {
    this.#recordedAt.set(keyOf(eventTypes), now)
  }
}

const VALID_MS = 300_000
const RECORD_EVERY_MS = 30_000

function keyOf(eventTypes: EventTypes): string {
  return eventTypes === 'any' ? ANY_TYPE : JSON.stringify(eventTypes)
}
