export { createReceiver, type ReceivedCallback, type Receiver } from './receiver/receiver.js'
export type { ReceiverRequestListener } from './receiver/request-listener.js'
export type { PlainRequest } from './http/plain-request.js'
export type { ReceiverOptions } from './receiver/settings.js'
export { createWorker, type InboxWorker } from './worker/create-worker.js'
export type { WorkerOptions } from './worker/worker-options.js'
export { defineConfig, type Config, type HandlersModule } from './server/define-config.js'
export type { Subscriptions, SubscriptionHints } from './callback/subscriptions.js'

export { captureRawBody } from './http/capture-raw-body.js'
export { verifySignature } from './http/verify-signature.js'
export type { Middleware } from './http/middleware.js'

export type {
  CallbackEvent,
  CallbackPayload,
  EntryId,
  PublicSubscription,
  Subscription,
  VerifiedCallback,
} from './callback/callback.js'
export type {
  AnyEvent,
  EventMap,
  Handler,
  HandlerContext,
  HandlerOptions,
  TransactionalContext,
  TransactionalHandlerOptions,
} from './handlers/handlers.js'
export type { Registration } from './handlers/registration.js'
export type { StandardSchema } from './handlers/standard-schema.js'

export type { ReceiverEvents } from './events/event-channel.js'
export type { AttemptResult, AttemptStep } from './events/steps.js'
export type {
  AcceptedEvent,
  AnsweredEvent,
  AttemptEvent,
  ClaimedEvent,
  DeadEvent,
  DecidedEvent,
  DuplicateEvent,
  ExplainedEvent,
  FailedEvent,
  LeaseLostEvent,
  LifecycleEventName,
  LifecycleEvents,
  StoredEvent,
} from './events/lifecycle-events.js'

export type { Inbox } from './inbox/inbox.js'
export type * from './inbox/operations.js'
export type { ActivityBucket, ActivityRequest } from './inbox/activity.js'
export type { FinishedCallback } from './inbox/wait-for-callback.js'
export type { InboxState, PrunableState } from './inbox/states.js'
export { MemoryInbox } from './inbox/memory-inbox.js'
export { DoNotRetryError } from './handlers/do-not-retry.js'
export { RetryLaterError } from './handlers/retry-later.js'
export { MemoryIdempotencyStore } from './idempotency/memory-store.js'
export type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from './idempotency/store.js'

export { OUTCOMES, type Outcome, type OutcomeCode, type OutcomeName } from './callback/outcomes.js'
export { CountersignError, type InboxErrorCode, type SetupErrorCode } from './base/errors.js'
export type { HandlerLogger } from './logging/handler-logger.js'
export type { Logger } from './logging/logger.js'
