export {
  prometheusMetrics,
  type MetricRegistry,
  type ObservedProcess,
  type ObserveOptions,
  type PrometheusMetrics,
  type PrometheusMetricsOptions,
} from './telemetry/prometheus-metrics.js'
