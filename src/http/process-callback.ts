import { isPending, started, type MaybePending } from '../base/pending.js'
import type { ReadRequest } from '../callback/callback.js'
import { outcome, refusal, type Outcome, type ProbeOutcome, type Refusal } from '../callback/outcomes.js'
import { answeredNow, type AnsweredRequest } from '../events/publish-answer.js'
import type { BodyLimits } from './body-limits.js'
import { ProbeStep, type ProbeParts } from './probe-step.js'
import { callbackReader, type CallbackSource, type JoinBatch } from './read-callback.js'

interface ProcessorParts {
  readonly limits: BodyLimits
  /** Aborted when no more callbacks are accepted. */
  readonly stopping: AbortSignal
  readonly outcomeOf: (request: ReadRequest) => MaybePending<Outcome>
  /** Undefined if probes are not answered. */
  readonly probes: ProbeParts | undefined
  readonly onAnswered: (answered: AnsweredRequest) => void
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
  outcomeOf,
  probes,
  onAnswered,
}: ProcessorParts): ProcessCallback {
  const { readCallback, readBody } = callbackReader(limits, stopping)
  const probeStep = probes && new ProbeStep(probes, readBody)

  const decide = (read: ReadRequest | Refusal): MaybePending<Outcome> =>
    'refused' in read ? refusal(read) : outcomeOf(read)

  function answer(exchange: Exchange, result: Outcome | ProbeOutcome): void {
    const { request } = exchange
    request.release()
    exchange.answer(result)
    if (!('report' in result)) onAnswered(answeredNow(request, result))
  }

  async function finish(
    exchange: Exchange,
    reading: MaybePending<ReadRequest | Refusal>,
    deciding?: MaybePending<Outcome>,
  ): Promise<void> {
    let result: Outcome | ProbeOutcome
    try {
      result = await (deciding ?? decide(await reading))
      // A callback whose signature is valid is never a probe, whatever markers were added to it on the way.
      if (probeStep && !result.callback) result = await probeStep.outcomeOf(exchange, result)
    } catch (error) {
      result = outcome('ERR_INTERNAL', undefined, error)
    }
    answer(exchange, result)
  }

  return (exchange, joinBatch) => {
    const reading = started(() => readCallback(exchange, joinBatch))
    if (isPending(reading)) return finish(exchange, reading)
    const deciding = started(() => decide(reading))
    // Most callbacks end here: an async function for each takes 5 percent of the processor time.
    if (isPending(deciding) || (probeStep && !deciding.callback)) return finish(exchange, reading, deciding)
    // Answers are written when the whole batch has been decided on: a system call between two callbacks costs 5 percent.
    return DECIDED.then(() => answer(exchange, deciding))
  }
}
