import { isErrorLike, property } from '../base/foreign-value.js'
import type { ForwardedCallback } from './forwarded-callback.js'

/** What `forwardTo` uses of a BullMQ `Queue`, so that its types need no BullMQ. */
export interface JobQueue {
  readonly name: string
  add(name: string, data: ForwardedCallback, options?: object): Promise<{ readonly id?: string | undefined }>
  /** Builds a Redis key of the queue. */
  readonly toKey?: (type: string) => string
  getBackend?(): unknown
  /** BullMQ keeps the result of the first attempt: after a rejection the queue rejects every job. */
  waitUntilReady?(): Promise<unknown>
}

/** The options that the queue takes for a job, without those that the hand-off sets. */
export type ForwardedJobOptions<Queue extends JobQueue> = Omit<
  NonNullable<Parameters<Queue['add']>[2]>,
  ReservedJobOption
>

/** The options by which the hand-off recognises a repeat, and those that would create several jobs for one callback. */
export const RESERVED_JOB_OPTIONS = ['jobId', 'deduplication', 'debounce', 'repeat'] as const

type ReservedJobOption = (typeof RESERVED_JOB_OPTIONS)[number]

/** Where a queue on Redis keeps further keys. */
interface RedisKeys {
  get(key: string): Promise<string | null>
  set(key: string, value: string, options: { readonly PX: number }): Promise<unknown>
}

/** The connection of a queue on Redis; undefined for a queue on PostgreSQL, and for an object that is not a `Queue`. */
export async function redisKeysOf(queue: JobQueue): Promise<RedisKeys | undefined> {
  const client: unknown = await property(queue.getBackend?.(), 'client')
  const hasBoth = ['get', 'set'].every((method) => typeof property(client, method) === 'function')
  return hasBoth && queue.toKey ? (client as RedisKeys) : undefined
}

/**
 * Removes the record by which BullMQ recognises repeats of a callback, if it is of this job, which a script of Redis failed to add.
 * Redis does not roll a script back: the record may exist without the job, and a repeat would be answered 200 and lost. After any
 * other error the job may exist, so the record stays.
 */
export async function forgetFailedAdd(
  queue: JobQueue,
  error: unknown,
  id: string,
  jobId: string,
): Promise<void> {
  if (!/@user_script|running script/.test(messageOf(error))) return
  const backend = queue.getBackend?.()
  const remove = property(backend, 'removeDeduplicationKey')
  if (typeof remove === 'function') await Reflect.apply(remove, backend, [id, jobId])
}

export function messageOf(error: unknown): string {
  return isErrorLike(error) ? String(property(error, 'message')) : String(error)
}
