import type { Metric, MetricSamples, Sample } from './instruments.js'

/** The content type of the text format of Prometheus. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The metrics in the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats). */
export async function exposition(metrics: readonly Metric[]): Promise<string> {
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
