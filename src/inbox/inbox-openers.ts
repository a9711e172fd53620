import type { EventChannel } from '../events/event-channel.js'
import type { EntryId } from '../callback/callback.js'
import type { InboxOpener } from './engine.js'
import type { ActResult } from './operations.js'
import type { Decision } from './operator-action.js'
import type { OperatorAction } from './states.js'

/** Those who have opened an inbox object. It is closed with the last of them, and each is told of the decisions of operators. */
export class InboxOpeners {
  readonly #openers = new Set<InboxOpener>()

  /** Opens the inbox for one of them. */
  async open(opener: InboxOpener = PROGRAM, open: () => Promise<void>): Promise<void> {
    const isNew = !this.#openers.has(opener)
    // Before it is open: another one may close it meanwhile.
    this.#openers.add(opener)
    try {
      await open()
    } catch (error) {
      if (isNew) this.#openers.delete(opener)
      throw error
    }
  }

  /** Closes the inbox, unless others have opened it. */
  async close(opener: InboxOpener = PROGRAM, close: () => Promise<void>): Promise<void> {
    this.#openers.delete(opener)
    if (this.#openers.size === 0) await close()
  }

  /** Carries out a decision. If it was done, each of them is told. */
  async decide(
    id: EntryId,
    action: OperatorAction,
    decision: Decision,
    act: () => Promise<ActResult>,
  ): Promise<ActResult> {
    const result = await act()
    if (result.done) for (const opener of this.#openers) opener.decided?.(id, action, decision)
    return result
  }
}

/** The program itself, if it calls `open()` and `close()` without an argument. */
const PROGRAM: InboxOpener = {}

/** Publishes on `events` what operators decide, and calls `onDue` after each decision. */
export function decisionPublisher(events: EventChannel, onDue: () => void): InboxOpener {
  return {
    decided(id, action, { by, reason }) {
      onDue()
      events.publish('decided', { entryId: id, action, by, ...(reason !== undefined && { reason }) })
    },
  }
}
