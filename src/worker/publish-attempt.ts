import type { EntryId } from '../callback/callback.js'
import type { EventChannel } from '../events/event-channel.js'
import type { AttemptEvent } from '../events/lifecycle-events.js'
import type { AttemptResult } from '../events/steps.js'
import type { Logger } from '../logging/logger.js'
import type { AttemptEnd } from './attempt.js'
import { attemptFields } from './attempt-log.js'

/** Reports how an attempt ended, once that has been recorded, and returns it. */
export function publishAttempt(
  { end, failure }: AttemptEnd,
  what: AttemptEvent & { readonly entryId: EntryId },
  { events, logger }: { readonly events: EventChannel; readonly logger: Logger },
): AttemptResult {
  const { code, error } = failure ?? { code: 'ERR_INTERNAL', error: undefined }
  switch (end.move) {
    case 'complete':
      if (events.has('handled')) events.publish('handled', what)
      return { code: 'HANDLED' }
    case 'reschedule':
      if (events.has('failed')) events.publish('failed', { ...what, code, error, retryInMs: end.delayMs })
      return { code, error }
    case 'deadLetter':
      if (events.has('dead')) events.publish('dead', { ...what, code, error, reason: end.error })
      return { code, error }
    case 'handBack': {
      const message = 'entry was handed back: its handlers were not begun'
      // A failure of the inbox has been logged. Each entry would be handed back each second while it lasts.
      if (failure === undefined) logger.warn(attemptFields(what, end.move), message)
      return { code: undefined }
    }
  }
}
