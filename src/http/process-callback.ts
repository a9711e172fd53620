import { performance } from 'node:perf_hooks'
import { isPending, started, type MaybePending } from '../base/pending.js'
import type { CallbackRequest } from '../callback/callback.js'
import { outcome, refusal, type Outcome, type ProbeOutcome } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import type { BodyLimits } from './body-limits.js'
import type { CallbackHead } from './callback-head.js'
import { ProbeStep, type ProbeParts } from './probe-step.js'
import { callbackReader, type CallbackSource, type Intake, type JoinBatch } from './read-callback.js'

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
type ReceiveCallback = (
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
  answer(outcome: Outcome | ProbeOutcome): void
}

/**
 * Processes one request and answers it, before the outcome is logged and published. For a probe nothing is published. It never
 * throws and never rejects: the sender always gets an answer.
 */
export type ProcessCallback = (exchange: Exchange, joinBatch?: JoinBatch) => Promise<void>

const DECIDED = Promise.resolve()

/** The steps of every request, from `node:http`, Fetch or plain values. */
export function callbackProcessor({
  limits,
  stopping,
  receive,
  probes,
  onAnswered,
}: ProcessorParts): ProcessCallback {
  const { readCallback, readBody } = callbackReader(limits, stopping)
  const probeStep = probes && new ProbeStep(probes, readBody)

  const decide = ({ head }: Exchange, intake: Intake, startedAt: number): MaybePending<Outcome> =>
    intake.refused ? refusal(intake) : receive(intake, intake.credentials, head, startedAt)

  function answer(
    exchange: Exchange,
    intake: Intake | undefined,
    result: Outcome | ProbeOutcome,
    startedAt: number,
  ): void {
    intake?.release?.()
    exchange.answer(result)
    if ('report' in result) return
    const durationMs = performance.now() - startedAt
    onAnswered({ outcome: result, head: exchange.head, body: intake?.body, durationMs })
  }

  async function finish(
    exchange: Exchange,
    reading: MaybePending<Intake>,
    deciding: MaybePending<Outcome> | undefined,
    startedAt: number,
  ): Promise<void> {
    let intake: Intake | undefined
    let result: Outcome | ProbeOutcome
    try {
      intake = await reading
      result = await (deciding ?? decide(exchange, intake, startedAt))
      // A callback whose signature is valid is never a probe, whatever markers were added to it on the way.
      if (probeStep && !result.callback)
        result = await probeStep.outcomeOf(exchange, intake.body, result, startedAt)
    } catch (error) {
      result = outcome('ERR_INTERNAL', undefined, error)
    }
    answer(exchange, intake, result, startedAt)
  }

  return (exchange, joinBatch) => {
    const startedAt = performance.now()
    const reading = started(() => readCallback(exchange, joinBatch))
    if (isPending(reading)) return finish(exchange, reading, undefined, startedAt)
    const deciding = started(() => decide(exchange, reading, startedAt))
    // Most callbacks end here: an async function for each takes 5 percent of the processor time.
    if (isPending(deciding) || (probeStep && !deciding.callback))
      return finish(exchange, reading, deciding, startedAt)
    // Answers are written when the whole batch has been decided on: a system call between two callbacks costs 5 percent.
    return DECIDED.then(() => answer(exchange, reading, deciding, startedAt))
  }
}
