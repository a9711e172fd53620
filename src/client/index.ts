export { createClient } from './client.js'
export type {
  CallOptions,
  Client,
  ClientAccounts,
  ClientSubscriptions,
  CreateSubscriptionOptions,
} from './client.js'
export type { ClientOptions } from './client-options.js'
export type { Fetch, FetchInit, FetchResponse } from './connections.js'
export type { NewSubscription } from './subscriptions.js'
export type { AccountUpdate } from './accounts.js'
export type { ServiceResponse } from './request.js'
export { generateSecret } from './generate-secret.js'
export { ClientError, type ClientErrorCode } from './client-error.js'
