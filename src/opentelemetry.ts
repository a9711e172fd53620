export {
  openTelemetry,
  type OpenTelemetry,
  type OpenTelemetryOptions,
} from './telemetry/opentelemetry/open-telemetry.js'
export type { ObservedProcess, ObserveOptions } from './telemetry/observed-process.js'
