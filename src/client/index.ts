export { createClient, type Client } from './client.js'
export type { ClientOptions } from './client-options.js'
export type { Fetch, FetchInit, FetchResponse } from './connections.js'
export type { CallOptions } from './call-options.js'
export type {
  ClientSubscriptions,
  CreateSubscriptionOptions,
  NewSubscription,
  SubscriptionResponse,
} from './subscriptions.js'
export type { AccountUpdate, ClientAccounts } from './accounts.js'
export type { ServiceResponse } from './request.js'
export { generateSecret } from './generate-secret.js'
export { ClientError, type ClientErrorCode } from './client-error.js'
