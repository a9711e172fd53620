import { createReceiver, type Handler, type Outcome, type ReceiverOptions } from '../../src/index.js'
import { subscription } from '../support/subscription.js'

interface RunOptions extends Partial<ReceiverOptions> {
  readonly handler?: Handler
}

/** A receiver, and the outcomes of its requests. */
export function run({ handler = () => {}, ...options }: RunOptions = {}) {
  const outcomes: Outcome[] = []
  const receiver = createReceiver<object>({ subscriptions: [subscription], logger: false, ...options })
    .onAny(handler)
    .onOutcome((outcome) => outcomes.push(outcome))
  return { receiver, outcomes, codes: () => outcomes.map(({ code }) => code) }
}
