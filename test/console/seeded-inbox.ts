import { randomUUID } from 'node:crypto'
import { MemoryInbox } from '../support/whole-inbox.js'
import type { Arrival, ClaimEnd } from '../../src/inbox/engine.js'
import { arrival, type ArrivalOptions } from '../support/arrivals.js'
import { subscription } from '../support/subscription.js'
import { fakeClock } from '../support/fake-clock.js'

export const NOW = Date.UTC(2026, 10, 3, 9, 14, 27)

type SeededEnd = ClaimEnd | 'running' | 'stored'

/** An inbox whose clock stands at `NOW`, or is moved by the test, and what puts entries into it. */
export function seededInbox() {
  const clock = fakeClock(NOW)
  const inbox = new MemoryInbox({ clock })
  /** Adds an entry and takes it to this end. Resolves to its id. */
  const add = async (
    end: SeededEnd = { move: 'complete' },
    { ...options }: ArrivalOptions & Partial<Pick<Arrival, 'bodyId' | 'headers'>> = {},
  ): Promise<string> => {
    const bodyId = options.bodyId ?? randomUUID()
    const at = new Date(clock())
    const added = arrival({ body: JSON.stringify({ Id: bodyId }), signedAt: at, receivedAt: at, ...options })
    const { id } = await inbox.add({ ...added, bodyId, headers: options.headers ?? HEADERS })
    if (end === 'stored' || options.suspicion !== undefined) return id
    const { entries } = await inbox.claim({
      eventTypes: [added.callback.type],
      limit: 1_000,
      leaseMs: 60_000,
    })
    const claim = entries.find((entry) => entry.id === id)!
    const others = entries.filter((entry) => entry !== claim)
    await inbox.settle(others.map((other) => ({ claim: other, end: { move: 'handBack' } })))
    await inbox.begin([claim], 60_000)
    if (end !== 'running') await inbox.settle([{ claim, end }])
    return id
  }
  return { inbox, clock, add }
}

const HEADERS: Arrival['headers'] = {
  pairs: [
    ['Host', 'partner.example.com'],
    ['Content-Type', 'application/json'],
    ['X-Event-Type', subscription.eventTypeName],
    ['User-Agent', 'callback-sender/2.4'],
  ],
  isCut: false,
}
