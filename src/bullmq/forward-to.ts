import { linkedController, untilAborted } from '../base/abort.js'
import type { HasAll } from '../base/has-all.js'
import {
  checkKnownOptions,
  durationOption,
  integerOption,
  invalidOption,
  isRecord,
  kindOf,
  objectOption,
} from '../base/option-checks.js'
import { withTimeout } from '../base/timeout.js'
import type { HandlerContext } from '../handlers/handlers.js'
import { RetryLaterError } from '../handlers/retry-later.js'
import { LACKS_SHARED_STORE, NEEDS_SHARED_STORE, sharedStoreMissing } from '../handlers/shared-store.js'
import { saysKeyReused } from '../handlers/key-reused.js'
import { addOnce } from './add-once.js'
import { forwardedId, toForwarded, type AnyCallbackEvent } from './forwarded-callback.js'
import { messageOf, RESERVED_JOB_OPTIONS, type ForwardedJobOptions, type JobQueue } from './job-queue.js'
import { OverdueAdds } from './overdue-adds.js'

/** Options of `forwardTo`. */
export interface ForwardOptions<Queue extends JobQueue = JobQueue> {
  /** The name of each job, or a function that returns it. @default the event type */
  readonly name?: string | ((event: AnyCallbackEvent) => string) | undefined
  /**
   * BullMQ's options for each job, such as `attempts`, `backoff`, `priority` and `removeOnComplete`. Not `jobId`,
   * `deduplication`, `debounce` and `repeat`, which would break the recognition of repeats.
   * @default the queue's `defaultJobOptions`
   */
  readonly jobOptions?: ForwardedJobOptions<Queue> | undefined
  /**
   * How long the queue remembers a callback after it was added, in milliseconds, also after its job was completed and cleaned.
   * It must be longer than the receiver's `toleranceMs`: an older repeat is refused before it gets here.
   * @default 604_800_000 (7 days)
   */
  readonly retentionMs?: number | undefined
  /**
   * How long the queue may take, in milliseconds. Without a limit BullMQ waits for ever while its server cannot be reached. Must
   * be less than the receiver's `handlerTimeoutMs`. Otherwise the handler times out, and the answer is 500. @default 5_000
   */
  readonly timeoutMs?: number | undefined
}

const OPTIONS = [
  'name',
  'jobOptions',
  'retentionMs',
  'timeoutMs',
] as const satisfies readonly (keyof ForwardOptions)[]
void (true satisfies HasAll<keyof ForwardOptions, typeof OPTIONS>)

const OWNER = 'forwardTo'
const RETENTION_MS = { fallback: 604_800_000, min: 1 }

/**
 * A handler that hands events to a BullMQ queue, on Redis or on PostgreSQL. It ends when the queue has the job, and only then
 * the callback is answered 200 or its entry is complete. A repeat adds no second job. The receiver needs an inbox or a shared
 * store: the queue recognises a callback by its key, and not a captured one under a new key. The queue stays yours: close it
 * after the receiver has stopped.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 * @returns a handler that throws RetryLaterError if the queue fails or does not answer within `timeoutMs`, and
 *   ERR_IDEMPOTENCY_KEY_REUSED if the queue has a callback with the same key and another body
 */
export function forwardTo<Queue extends JobQueue>(
  queue: Queue,
  options: ForwardOptions<Queue> = {},
): (event: AnyCallbackEvent, context: HandlerContext) => Promise<void> {
  const jobs: JobQueue = objectOption(OWNER, 'queue', queue, ['add'])
  checkKnownOptions(OWNER, options, OPTIONS)
  const nameOf = nameOption(options.name)
  const jobOptions = jobOptionsOption(options.jobOptions)
  const retentionMs = integerOption(OWNER, 'retentionMs', options.retentionMs, RETENTION_MS)
  const timeoutMs = durationOption(OWNER, 'timeoutMs', options.timeoutMs, 5_000)
  const overdue = new OverdueAdds()
  let isGivenUp = false
  jobs.waitUntilReady?.().catch(() => (isGivenUp = true))
  const forward = async (event: AnyCallbackEvent, context: HandlerContext): Promise<void> => {
    // Also where the application calls it within a handler of its own.
    if (Reflect.get(context, LACKS_SHARED_STORE) === true) throw sharedStoreMissing(OWNER)
    const { signal, logger } = context
    const id = forwardedId(event)
    const job = { id, name: nameOf(event), data: toForwarded(event), options: jobOptions, retentionMs }
    if (!overdue.admits()) throw failure(jobs, 'it has not answered for some time')
    // Also aborted after `timeoutMs`, so that what waits for a connection does not add the job any more.
    const { controller, release } = linkedController(signal)
    const adding = addOnce(jobs, job, controller.signal)
    try {
      const isNew = await withTimeout(untilAborted(adding, controller.signal), timeoutMs, 'the queue')
      overdue.forget()
      const message = isNew ? 'the queue has the callback' : 'the queue had the callback already'
      logger.debug({ queue: jobs.name }, message)
    } catch (error) {
      if (saysKeyReused(error)) throw error
      controller.abort(error)
      overdue.keep(adding)
      throw failure(jobs, messageOf(error) + (isGivenUp ? RESTART : ''), error)
    } finally {
      release()
    }
  }
  return Object.assign(forward, { [NEEDS_SHARED_STORE]: true })
}

const RESTART =
  '. The queue could not be used when it was created, and BullMQ does not try again: remove the cause and restart the process'

function failure(queue: JobQueue, why: string, cause?: unknown): RetryLaterError {
  const message = `the callback could not be handed to the queue ${JSON.stringify(queue.name)}: ${why}`
  return new RetryLaterError(message, { cause })
}

function nameOption(name: ForwardOptions['name']): (event: AnyCallbackEvent) => string {
  if (name === undefined) return ({ type }) => type
  if (typeof name === 'function') return (event) => checkedName(name(event))
  const checked = checkedName(name)
  return () => checked
}

/** BullMQ does not check it. On PostgreSQL the name of a job would be "{}" where the function returns a promise. */
function checkedName(name: unknown): string {
  if (typeof name === 'string' && name !== '') return name
  throw invalidOption(OWNER, 'name', name, 'pass a text or a function that returns one')
}

function jobOptionsOption(options: object = {}): object {
  if (!isRecord(options))
    throw invalidOption(
      OWNER,
      'jobOptions',
      options,
      'pass an object with options of BullMQ',
      kindOf(options),
    )
  for (const name of RESERVED_JOB_OPTIONS) {
    const value = options[name]
    if (value === undefined) continue
    const cure = 'leave it out: forwardTo sets what makes a repeat recognisable'
    throw invalidOption(OWNER, { option: 'jobOptions', part: `jobOptions.${name}` }, value, cure)
  }
  return { ...options }
}
