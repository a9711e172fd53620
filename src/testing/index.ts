export {
  signedCallback,
  type SignedCallback,
  type SignedCallbackOptions,
  type ToHttpOptions,
} from './signed-callback.js'
export {
  sendRawRequest,
  RawRequestError,
  type RawRequestCode,
  type RawRequestOptions,
  type RawResponse,
  type RawTarget,
} from './raw-request.js'
export {
  loadRecordedRequest,
  loadRecordedRequests,
  parseRecordedRequest,
  recordedAt,
  recordedSubscriptions,
  replayRecordedRequest,
  RecordedRequestError,
  type ParsedRequest,
  type RecordedRequest,
  type RecordedRequestCode,
  type RecordedSubscription,
} from './recorded-requests.js'
export { registerIdempotencyStoreTests, type StoreUnderTest } from './idempotency-store-tests.js'
export { registerInboxTests, type InboxUnderTest } from './inbox-tests.js'
export type { TestFramework } from './test-framework.js'
