export {
  openTelemetry,
  type OpenTelemetry,
  type OpenTelemetryOptions,
} from './telemetry/opentelemetry/open-telemetry.js'
