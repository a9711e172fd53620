import type { Meter } from '@opentelemetry/api'
import { INBOX } from '../../inbox/inbox.js'
import { AnswerMetrics } from '../answer-metrics.js'
import { AttemptMetrics } from '../attempt-metrics.js'
import type { EventTypeLabel } from '../event-type-labels.js'
import { InboxMetrics } from '../inbox-metrics.js'
import type { CheckedProcess } from '../observed-process.js'
import { callbackDurations } from './callback-durations.js'
import { ObservableMetrics } from './observable-metrics.js'

type Observe = (observed: CheckedProcess, name: string) => () => void

/**
 * `openTelemetry()` may be called for each receiver. The SDK takes observable counters of one name on one meter for one series, whose
 * value then grows with each export.
 */
const observersByMeter = new WeakMap<Meter, Observe>()

/** The metrics of receivers and workers. Returns a function that observes one of them, and returns what ends that. */
export function callbackMetrics(meter: Meter, eventTypeLabel: EventTypeLabel): Observe {
  const known = observersByMeter.get(meter)
  if (known) return known
  const observe = newCallbackMetrics(meter, eventTypeLabel)
  observersByMeter.set(meter, observe)
  return observe
}

function newCallbackMetrics(meter: Meter, eventTypeLabel: EventTypeLabel): Observe {
  const answers = new AnswerMetrics(eventTypeLabel)
  const attempts = new AttemptMetrics(eventTypeLabel)
  const inboxes = new InboxMetrics(Date.now)
  const observeDurations = callbackDurations(meter, eventTypeLabel)
  const counted = [answers, attempts, inboxes].flatMap(({ metrics }) => metrics)
  const observable = new ObservableMetrics(meter, counted)
  let observed = 0

  return ({ events, [INBOX]: inbox }, name) => {
    if (observed++ === 0) observable.start()
    const ends = [answers.observe(events), attempts.observe(events), observeDurations(events)]
    if (inbox) ends.push(inboxes.observe(name, inbox))
    return () => {
      if (ends.length > 0 && --observed === 0) observable.stop()
      for (const end of ends.splice(0)) end()
    }
  }
}
