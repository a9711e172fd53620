import { performance } from 'node:perf_hooks'
import { isPending, type MaybePending } from '../base/pending.js'
import type { CallbackRequest } from '../callback/callback.js'
import { outcome, type Outcome } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import type { BodyLimits } from './raw-body.js'
import { ProbeStep, type ProbeParts } from './probe-step.js'
import {
  callbackReader,
  type CallbackHead,
  type CallbackSource,
  type Intake,
  type JoinBatch,
} from './read-callback.js'

interface ProcessorParts {
  readonly limits: BodyLimits
  /** Aborted when no more callbacks are accepted. */
  readonly stopping: AbortSignal
  readonly receive: ReceiveCallback
  /** Undefined if probes are not answered. */
  readonly probes: ProbeParts | undefined
  readonly onAnswered: (answered: AnsweredRequest) => void
}

/** `arrivedAt`: when the headers had arrived, by `performance.now()`. */
export type ReceiveCallback = (
  callback: CallbackRequest,
  credentials: Credentials,
  head: CallbackHead,
  arrivedAt: number,
) => MaybePending<Outcome>

/** A request that has been answered. Nothing in it is verified unless `outcome.callback` is set. */
export interface AnsweredRequest {
  readonly outcome: Outcome
  readonly head: CallbackHead
  /** Undefined if it was not read, or not completely. */
  readonly body: Buffer | undefined
  /** From the headers of the request to the answer, in milliseconds. */
  readonly durationMs: number
}

/** A request and the way to answer it. */
export interface Exchange extends CallbackSource {
  /** `report` is given for a probe, and takes the place of the ordinary answer. */
  answer(outcome: Outcome, report?: string): void
}

/**
 * Processes one request and answers it, before the outcome is logged and published. For a probe nothing is published. It never
 * throws and never rejects: the sender always gets an answer.
 */
export type ProcessCallback = (exchange: Exchange, joinBatch?: JoinBatch) => Promise<void>

/** The steps of every request, from `node:http`, Fetch or plain values. */
export function callbackProcessor({
  limits,
  stopping,
  receive,
  probes,
  onAnswered,
}: ProcessorParts): ProcessCallback {
  const probeStep = probes && new ProbeStep(probes)
  const readCallback = callbackReader(limits, { stopping, probeStep })
  return async (exchange, joinBatch) => {
    const startedAt = performance.now()
    let intake: Intake | undefined
    let result
    let report
    try {
      const reading = readCallback(exchange, joinBatch)
      intake = isPending(reading) ? await reading : reading
      // Awaited also if it is no promise: so a whole batch is processed before the first of it is answered.
      result = intake.refused
        ? outcome(intake.refused)
        : await receive(intake, intake.credentials, exchange.head, startedAt)
      // A callback whose signature is valid is never a probe, whatever markers were added to it on the way.
      if (probeStep && !result.callback) {
        const reporting = probeStep.report(exchange.head, intake, result, startedAt)
        if (reporting) report = await reporting
      }
    } catch (error) {
      result = outcome('ERR_INTERNAL', undefined, error)
    }
    intake?.release?.()
    exchange.answer(result, report)
    if (report !== undefined) return
    const durationMs = performance.now() - startedAt
    onAnswered({ outcome: result, head: exchange.head, body: intake?.body, durationMs })
  }
}
