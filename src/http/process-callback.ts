import { performance } from 'node:perf_hooks'
import type { CallbackRequest } from '../callback/callback.js'
import { outcome, type Outcome, type OutcomeCode } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import type { BodyLimits } from './raw-body.js'
import { ProbeStep, type ProbeParts } from './probe-step.js'
import { callbackReader, type CallbackHead, type ReadBody, type ReadOptions } from './read-callback.js'

interface ProcessorParts {
  readonly limits: BodyLimits
  /** Aborted when no more callbacks are accepted. */
  readonly stopping: AbortSignal
  readonly receive: (callback: CallbackRequest, credentials: Credentials) => Promise<Outcome>
  /** Undefined if probes are not answered. */
  readonly probes: ProbeParts | undefined
  readonly onAnswered: (answered: AnsweredRequest) => void
}

/** A request that has been answered. Nothing in it is verified unless `outcome.callback` is set. */
export interface AnsweredRequest {
  readonly outcome: Outcome
  readonly head: CallbackHead
  /** Undefined if it was not read, or not completely. */
  readonly body: Buffer | undefined
  /** From the headers of the request to the answer, in milliseconds. */
  readonly durationMs: number
}

interface ProcessOptions extends Pick<ReadOptions, 'joinBatch'> {
  /** Called before the body is read, unless the headers are a reason to refuse the request. */
  readonly beforeBody?: () => void
}

/**
 * Processes one request and passes its outcome to `answer`, before the outcome is logged and published. For a probe
 * `answer` also gets the report, and nothing is published. It never throws and never rejects: the sender always gets an
 * answer.
 */
export type ProcessCallback = (
  head: CallbackHead,
  readBody: ReadBody,
  answer: (outcome: Outcome, report?: string) => void,
  options?: ProcessOptions,
) => Promise<void>

/** The steps of every request, from `node:http`, Fetch or plain values. */
export function callbackProcessor({
  limits,
  stopping,
  receive,
  probes,
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
    const step = probes && new ProbeStep(probes, head)
    const isProbe = step && ((refused: OutcomeCode) => step.isProbe(refused))
    let release = (): void => {}
    let result
    let body: Buffer | undefined
    let report
    try {
      const reading = { beforeBody: admitBody, isProbe, stopping, joinBatch }
      const intake = await readCallback(head, readBody, reading)
      release = () => intake.release?.()
      body = intake.body
      result = intake.refused ? outcome(intake.refused) : await receive(intake, intake.credentials)
      const reporting = step?.report(result, body, startedAt)
      if (reporting) report = await reporting
    } catch (error) {
      result = outcome('ERR_INTERNAL', undefined, error)
    } finally {
      release()
    }
    answer(result, report)
    if (report === undefined)
      onAnswered({ outcome: result, head, body, durationMs: performance.now() - startedAt })
  }
}
