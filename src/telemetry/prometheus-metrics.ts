import { checkKnownOptions, invalidOption, objectOption } from '../base/option-checks.js'
import { AnswerMetrics } from './answer-metrics.js'
import { AttemptMetrics } from './attempt-metrics.js'
import { eventTypeLabels } from './event-type-labels.js'
import { INBOX } from '../inbox/inbox.js'
import { InboxMetrics } from './inbox-metrics.js'
import type { Metric, MetricSamples, Sample } from './instruments.js'
import { checkObserved, inboxName, type ObservedProcess, type ObserveOptions } from './observed-process.js'
import { ProcessMetrics } from './process-metrics.js'

/** Options of `prometheusMetrics`. */
export interface PrometheusMetricsOptions {
  /** The registry that writes these metrics beside your own: a `Registry` of prom-client 15. @default none: use `text()` */
  readonly register?: MetricRegistry | undefined
  /**
   * How many event types become labels, from 1 to 1,000; further ones are counted as `other`. The types are those of the
   * subscriptions whose secret matched. @default 100
   */
  readonly maxEventTypes?: number | undefined
}

/** What is needed of a `Registry` of prom-client. */
export interface MetricRegistry {
  // A method, so that the narrower parameter type of prom-client is accepted. prom-client need not be installed.
  registerMetric(metric: never): void
  /** Without it, the registry itself has to refuse a second metric of one name. */
  getSingleMetric?(name: string): unknown
}

/** Metrics in a registry of `prom-client`. `prometheusMetrics` makes it. */
export interface PrometheusMetrics {
  /**
   * Counts what this receiver or worker does. The figures of several are added up. Returns a function that ends it.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
   */
  observe(observed: ObservedProcess, options?: ObserveOptions): () => void
  /** These metrics in the text format of Prometheus, without a registry. Never rejects because of an inbox. */
  text(): Promise<string>
  /** The Content-Type of `text()`. */
  readonly contentType: string
}

/**
 * Metrics for Prometheus. Their names begin with `countersign_`; docs/metrics.md lists them.
 *
 * @example
 *   const metrics = prometheusMetrics({ register })
 *   metrics.observe(receiver)
 *
 * @throws CountersignError ERR_OPTION_INVALID, also if `register` has a metric of these names; ERR_OPTION_UNKNOWN
 */
export function prometheusMetrics(options: PrometheusMetricsOptions = {}): PrometheusMetrics {
  checkKnownOptions(OWNER, options, ['register', 'maxEventTypes'])
  const { register, maxEventTypes } = options
  if (register !== undefined) objectOption(OWNER, 'register', register, ['registerMetric'])
  const eventTypeLabel = eventTypeLabels(OWNER, maxEventTypes)
  const answers = new AnswerMetrics(eventTypeLabel)
  const attempts = new AttemptMetrics(eventTypeLabel)
  const inboxes = new InboxMetrics(Date.now)
  const ofProcess = new ProcessMetrics()
  const metrics: readonly Metric[] = [answers, attempts, inboxes, ofProcess].flatMap((each) => each.metrics)
  if (register !== undefined) registerAll(metrics, register)
  let observed = 0

  return {
    contentType: CONTENT_TYPE,
    text: () => exposition(metrics),
    observe(target, observeOptions = {}) {
      const { events, [INBOX]: inbox } = checkObserved(OBSERVE, target)
      const name = inboxName(OBSERVE, observeOptions)
      if (observed++ === 0) ofProcess.start()
      const ends = [
        answers.observe(events),
        attempts.observe(events),
        inbox ? inboxes.observe(name, inbox) : () => {},
      ]
      return () => {
        if (ends.length > 0 && --observed === 0) ofProcess.stop()
        for (const end of ends.splice(0)) end()
      }
    },
  }
}

function registerAll(metrics: readonly Metric[], register: MetricRegistry): void {
  // Before the first is registered: a registry with a part of the metrics would refuse the next attempt as well.
  const taken = metrics.find(({ name }) => register.getSingleMetric?.(name) !== undefined)
  if (taken) {
    const cure =
      'call prometheusMetrics() once for a registry, and pass each receiver and worker to its observe()'
    throw invalidOption(OWNER, 'register', register, cure, `a registry with the metric ${taken.name} already`)
  }
  for (const metric of metrics) register.registerMetric(metric as never)
}

const OWNER = 'prometheusMetrics'
const OBSERVE = 'metrics.observe'

/** The content type of the text format of Prometheus. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The metrics in the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats). */
async function exposition(metrics: readonly Metric[]): Promise<string> {
  const families = await Promise.all(metrics.map((metric) => metric.get()))
  return families.map(family).join('')
}

function family({ name, help, type, values }: MetricSamples): string {
  const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  return head + values.map((sample) => line(name, sample)).join('')
}

function line(family: string, { metricName = family, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`)
  return `${metricName}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
