export { signedCallback, type SignedCallback, type SignedCallbackOptions } from './testing/signed-callback.js'
export {
  sendRawRequest,
  RawRequestError,
  type RawRequestCode,
  type RawRequestOptions,
  type RawResponse,
} from './testing/raw-request.js'
export {
  loadRecordedRequest,
  loadRecordedRequests,
  parseRecordedRequest,
  recordedSubscriptions,
  replayRecordedRequest,
  RecordedRequestError,
  type ParsedRequest,
  type RecordedRequest,
} from './testing/recorded-requests.js'
export type { RecordedSubscription } from './testing/recorded-description.js'
export { registerIdempotencyStoreTests, type StoreUnderTest } from './testing/idempotency-store-tests.js'
