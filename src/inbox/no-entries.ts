import type { InboxState } from './states.js'

/** How many entries are in each state of an empty inbox; the compiler keeps it complete. */
export const NO_ENTRIES: Readonly<Record<InboxState, number>> = {
  stored: 0,
  running: 0,
  retrying: 0,
  handled: 0,
  dead: 0,
  unhandled: 0,
  quarantined: 0,
  discarded: 0,
}
