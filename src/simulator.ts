export { startServiceSimulator, type ServiceSimulator } from './simulator/service-simulator.js'
export type { Interception, ServiceSimulatorOptions } from './simulator/options.js'
export type { ServiceSubscription, SubscribeOptions } from './simulator/subscription-book.js'
export type {
  AnsweredApiRequest,
  ApiRequest,
  Endpoint,
  Refusal,
  RefusalReason,
  ServiceAccount,
  SimulatedResponse,
} from './simulator/api-types.js'
export type {
  Attempt,
  DeliverManyOptions,
  DeliverOptions,
  Delivery,
  RetryPolicy,
} from './simulator/delivery.js'
export type { Authenticity, Fault, FaultKind, FaultName } from './simulator/fault.js'
export type { DeliveryReport, Handled } from './simulator/report.js'
