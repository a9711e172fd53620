import { performance } from 'node:perf_hooks'
import type { CallbackHeaders, CallbackRequest } from '../callback/callback.js'
import { outcome, type Outcome, type OutcomeCode } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import type { BodyLimits } from './raw-body.js'
import { callbackReader, type CallbackHead, type ReadBody, type ReadOptions } from './read-callback.js'

interface ProcessorParts {
  readonly limits: BodyLimits
  /** Aborted when no more callbacks are taken in. */
  readonly stopping: AbortSignal
  readonly receive: (callback: CallbackRequest, credentials: Credentials) => Promise<Outcome>
  readonly onAnswered: (outcome: Outcome, headers: CallbackHeaders, durationMs: number) => void
}

interface ProcessOptions extends Pick<ReadOptions, 'joinBatch'> {
  /** Called before the body is read, unless the head is a reason to refuse the request. */
  readonly beforeBody?: () => void
}

/**
 * Takes one request to its outcome, and hands that to `answer` before it is logged and reported. Never throws and never
 * rejects: whatever happens, the sender gets an answer.
 */
export type ProcessCallback = (
  head: CallbackHead,
  readBody: ReadBody,
  answer: (outcome: Outcome) => void,
  options?: ProcessOptions,
) => Promise<void>

/** The steps that every request takes, whether it comes from `node:http`, from Fetch, or as plain values. */
export function callbackProcessor({
  limits,
  stopping,
  receive,
  onAnswered,
}: ProcessorParts): ProcessCallback {
  const readCallback = callbackReader(limits)
  return async (head, readBody, answer, { beforeBody, joinBatch } = {}) => {
    const startedAt = performance.now()
    const admitBody = (): OutcomeCode | undefined => {
      if (stopping.aborted) return 'ERR_SHUTTING_DOWN'
      beforeBody?.()
      return undefined
    }
    let release = (): void => {}
    let result
    try {
      const intake = await readCallback(head, readBody, { beforeBody: admitBody, stopping, joinBatch })
      if (intake.refused) result = outcome(intake.refused)
      else {
        release = () => intake.release()
        result = await receive(intake, intake.credentials)
      }
    } catch (error) {
      result = outcome('ERR_INTERNAL', undefined, error)
    } finally {
      release()
    }
    answer(result)
    onAnswered(result, head.headers, performance.now() - startedAt)
  }
}
