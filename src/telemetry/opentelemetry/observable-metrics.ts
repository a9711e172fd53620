import type { Meter, Observable, ObservableCallback } from '@opentelemetry/api'
import type { Metric, Sample } from '../instruments.js'

/** The metrics of Prometheus that are read when they are exported, with their names and units for OpenTelemetry. */
const NAMES: Readonly<Record<string, { readonly name: string; readonly unit: string }>> = {
  countersign_callbacks_total: { name: 'countersign.callbacks', unit: '{callback}' },
  countersign_attempts_total: { name: 'countersign.attempts', unit: '{attempt}' },
  countersign_operator_actions_total: { name: 'countersign.operator_actions', unit: '{action}' },
  countersign_clock_skew_seconds: { name: 'countersign.clock_skew', unit: 's' },
  countersign_secret_last_verified_timestamp_seconds: {
    name: 'countersign.secret.last_verified',
    unit: 's',
  },
  countersign_inbox_readable: { name: 'countersign.inbox.readable', unit: '1' },
  countersign_inbox_entries: { name: 'countersign.inbox.entries', unit: '{entry}' },
  countersign_inbox_oldest_unfinished_age_seconds: {
    name: 'countersign.inbox.oldest_unfinished.age',
    unit: 's',
  },
  countersign_inbox_oldest_dead_letter_age_seconds: {
    name: 'countersign.inbox.oldest_dead_letter.age',
    unit: 's',
  },
  countersign_inbox_oldest_snapshot_age_seconds: {
    name: 'countersign.inbox.oldest_snapshot.age',
    unit: 's',
  },
  countersign_inbox_dead_rows: { name: 'countersign.inbox.dead_rows', unit: '{row}' },
}

/** Metrics that are read when they are exported. */
export class ObservableMetrics {
  readonly #instruments: readonly { readonly observable: Observable; readonly read: ObservableCallback }[]

  constructor(meter: Meter, metrics: readonly Metric[]) {
    this.#instruments = metrics.flatMap((metric) => {
      const names = NAMES[metric.name]
      if (!names) return []
      const options = { description: metric.help, unit: names.unit }
      const observable =
        metric.type === 'counter'
          ? meter.createObservableCounter(names.name, options)
          : meter.createObservableGauge(names.name, options)
      const read: ObservableCallback = async (result) => {
        const { values } = await metric.get()
        for (const { value, labels } of values) result.observe(value, attributesOf(labels))
      }
      return [{ observable, read }]
    })
  }

  start(): void {
    for (const { observable, read } of this.#instruments) observable.addCallback(read)
  }

  stop(): void {
    for (const { observable, read } of this.#instruments) observable.removeCallback(read)
  }
}

function attributesOf(labels: Sample['labels']) {
  const named = Object.entries(labels).map(([label, value]) => [
    label === 'event_type' ? 'messaging.destination.name' : `countersign.${label}`,
    value,
  ])
  return Object.fromEntries(named) as Record<string, string | number>
}
