export {
  prometheusMetrics,
  type MetricRegistry,
  type PrometheusMetrics,
  type PrometheusMetricsOptions,
} from './telemetry/prometheus-metrics.js'
export type { ObservedProcess, ObserveOptions } from './telemetry/observed-process.js'
