export {
  prometheusMetrics,
  type MetricRegistry,
  type PrometheusMetrics,
  type PrometheusMetricsOptions,
} from './telemetry/prometheus-metrics.js'
