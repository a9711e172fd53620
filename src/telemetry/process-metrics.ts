import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import {
  BATCH_CHANNEL,
  COMMIT_CHANNEL,
  type BatchMeasurement,
  type CommitMeasurement,
} from '../base/measurements.js'
import { Gauge, Histogram, type Metric } from './instruments.js'

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
const QUANTILES = [0.5, 0.9, 0.99, 1]

/** What concerns all receivers, workers and inboxes of this process. */
export class ProcessMetrics {
  readonly #batches = new Histogram({
    name: 'countersign_batch_callbacks',
    help: 'Callbacks that were processed as one batch.',
    limits: SIZES,
  })
  readonly #commitSizes = new Histogram({
    name: 'countersign_inbox_commit_operations',
    help: 'Operations of an inbox that shared one commit.',
    limits: SIZES,
  })
  readonly #commitDurations = new Histogram({
    name: 'countersign_inbox_commit_duration_seconds',
    help: 'Time that a commit of an inbox took, with the operations that shared it.',
    limits: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  })
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  readonly metrics: Metric[] = [
    this.#batches,
    this.#commitSizes,
    this.#commitDurations,
    new Gauge(
      {
        name: 'countersign_event_loop_delay_seconds',
        help: 'By how much the event loop was late, by quantile, since the last scrape.',
      },
      () => this.#delays(),
      // Prometheus reserves the label quantile for summaries.
      'summary',
    ),
  ]

  start(): void {
    this.#delay.enable()
    subscribe(BATCH_CHANNEL, this.#onBatch)
    subscribe(COMMIT_CHANNEL, this.#onCommit)
  }

  stop(): void {
    this.#delay.disable()
    unsubscribe(BATCH_CHANNEL, this.#onBatch)
    unsubscribe(COMMIT_CHANNEL, this.#onCommit)
  }

  #delays() {
    const values = QUANTILES.map((quantile) => ({
      labels: { quantile: String(quantile) },
      // The histogram contains the whole interval between two measurements.
      value: Math.max(0, this.#delay.percentile(quantile * 100) / 1e9 - RESOLUTION_MS / 1000),
    }))
    this.#delay.reset()
    return values
  }

  readonly #onBatch = (message: unknown): void => {
    this.#batches.observe((message as BatchMeasurement).size)
  }

  readonly #onCommit = (message: unknown): void => {
    const { size, durationMs } = message as CommitMeasurement
    this.#commitSizes.observe(size)
    this.#commitDurations.observe(durationMs / 1000)
  }
}

const RESOLUTION_MS = 20
