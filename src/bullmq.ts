export { forwardTo, type ForwardOptions } from './bullmq/forward-to.js'
export { forwardedEvent, type ForwardedCallback } from './bullmq/forwarded-callback.js'
export {
  handleForwarded,
  type ForwardedHandlers,
  type ForwardedJob,
  type HandleForwardedOptions,
} from './bullmq/handle-forwarded.js'
export type { JobQueue } from './bullmq/job-queue.js'
