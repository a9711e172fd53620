import type { InboxState } from '../../inbox/states.js'

/** What a state means for the operator, and what can be done. */
export const MEANING: Readonly<Record<InboxState, string>> = {
  stored: 'It is stored, and a worker handles it next.',
  running: 'A worker handles it now.',
  retrying: 'Its handlers failed. A worker tries again later. Retry makes it try again now.',
  handled: 'All its handlers have succeeded. A retry handles it a second time.',
  dead: 'Its handlers failed, and it is not tried again. Remove the cause, then retry; or discard it if it must never be handled.',
  unhandled:
    'No worker has a handler for its event type. It is handled as soon as one is registered; or discard it if it must never be handled.',
  quarantined:
    'Its signature is valid, but something about it is suspect; see the reason. Compare it with the records of the service. Release it if it is genuine and was not handled before; otherwise discard it.',
  discarded: 'An operator decided that it is never handled.',
}
