import type { Meter } from '@opentelemetry/api'
import { AnswerMetrics } from '../answer-metrics.js'
import { AttemptMetrics } from '../attempt-metrics.js'
import type { EventTypeLabel } from '../event-type-labels.js'
import { InboxMetrics } from '../inbox-metrics.js'
import type { ObservedProcess } from '../observed-process.js'
import { callbackDurations } from './callback-durations.js'
import { ObservableMetrics } from './observable-metrics.js'

/** The metrics of receivers and workers. Returns a function that observes one of them, and returns what ends that. */
export function callbackMetrics(
  meter: Meter,
  eventTypeLabel: EventTypeLabel,
): (observed: ObservedProcess, inbox: string) => () => void {
  const answers = new AnswerMetrics(eventTypeLabel)
  const attempts = new AttemptMetrics(eventTypeLabel)
  const inboxes = new InboxMetrics(Date.now)
  const observeDurations = callbackDurations(meter, eventTypeLabel)
  const counted = [answers, attempts, inboxes].flatMap(({ metrics }) => metrics)
  const observable = new ObservableMetrics(meter, counted)
  let observed = 0

  return ({ events, operations }, inbox) => {
    if (observed++ === 0) observable.start()
    const ends = [answers.observe(events), attempts.observe(events), observeDurations(events)]
    if (operations) ends.push(inboxes.observe(inbox, operations))
    return () => {
      if (ends.length > 0 && --observed === 0) observable.stop()
      for (const end of ends.splice(0)) end()
    }
  }
}
