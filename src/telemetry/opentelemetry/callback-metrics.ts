import type { Meter } from '@opentelemetry/api'
import type { EventSource } from '../../events/event-channel.js'
import { AnswerMetrics } from '../answer-metrics.js'
import { AttemptMetrics } from '../attempt-metrics.js'
import type { BoundedNames } from '../bounded-names.js'
import { InboxMetrics } from '../inbox-metrics.js'
import type { ObservedProcess } from '../observed-process.js'
import { CallbackDurations } from './callback-durations.js'
import { ObservableMetrics } from './observable-metrics.js'

/** The metrics of receivers and workers. */
export class CallbackMetrics {
  readonly #ofEvents: readonly { observe(events: EventSource): () => void }[]
  readonly #inboxes = new InboxMetrics(Date.now)
  readonly #observable: ObservableMetrics
  #observed = 0

  constructor(meter: Meter, eventTypes: BoundedNames) {
    const answers = new AnswerMetrics(eventTypes)
    const attempts = new AttemptMetrics(eventTypes, Date.now)
    this.#ofEvents = [answers, attempts, new CallbackDurations(meter, eventTypes, Date.now)]
    const counted = [answers, attempts, this.#inboxes].flatMap(({ metrics }) => metrics)
    this.#observable = new ObservableMetrics(meter, counted)
  }

  observe({ events, operations }: ObservedProcess, inbox: string): () => void {
    if (this.#observed++ === 0) this.#observable.start()
    const ends = this.#ofEvents.map((each) => each.observe(events))
    if (operations) ends.push(this.#inboxes.observe(inbox, operations))
    return () => {
      if (ends.length > 0 && --this.#observed === 0) this.#observable.stop()
      for (const end of ends.splice(0)) end()
    }
  }
}
