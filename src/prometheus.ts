export {
  prometheusMetrics,
  type MetricRegistry,
  type ObserveOptions,
  type PrometheusMetrics,
  type PrometheusMetricsOptions,
} from './telemetry/prometheus-metrics.js'
export type { ObservedProcess } from './telemetry/observed-process.js'
