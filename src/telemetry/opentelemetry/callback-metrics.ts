import type { Meter } from '@opentelemetry/api'
import { AnswerMetrics } from '../answer-metrics.js'
import { AttemptMetrics } from '../attempt-metrics.js'
import type { BoundedNames } from '../bounded-names.js'
import { InboxMetrics } from '../inbox-metrics.js'
import type { ObservedProcess } from '../observed-process.js'
import { CallbackDurations } from './callback-durations.js'
import { ObservableMetrics } from './observable-metrics.js'

/** The metrics of receivers and workers. */
export class CallbackMetrics {
  readonly #answers: AnswerMetrics
  readonly #attempts: AttemptMetrics
  readonly #inboxes = new InboxMetrics(Date.now)
  readonly #durations: CallbackDurations
  readonly #observable: ObservableMetrics
  #observed = 0

  constructor(meter: Meter, eventTypes: BoundedNames) {
    this.#answers = new AnswerMetrics(eventTypes)
    this.#attempts = new AttemptMetrics(eventTypes, Date.now)
    this.#durations = new CallbackDurations(meter, eventTypes, Date.now)
    const counted = [this.#answers, this.#attempts, this.#inboxes]
    this.#observable = new ObservableMetrics(
      meter,
      counted.flatMap(({ metrics }) => metrics),
    )
  }

  observe({ events, operations }: ObservedProcess, inbox: string): () => void {
    if (this.#observed++ === 0) this.#observable.start()
    const ends = [
      this.#answers.observe(events),
      this.#attempts.observe(events),
      this.#durations.observe(events),
      operations ? this.#inboxes.observe(inbox, operations) : () => {},
    ]
    return () => {
      if (ends.length > 0 && --this.#observed === 0) this.#observable.stop()
      for (const end of ends.splice(0)) end()
    }
  }
}
