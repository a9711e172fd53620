import { createHash, randomBytes } from 'node:crypto'
import { KeyReusedError } from '../handlers/key-reused.js'
import type { ForwardedCallback } from './forwarded-callback.js'
import { forgetFailedAdd, redisKeysOf, type JobQueue } from './job-queue.js'

interface JobToAdd {
  /** What identifies the callback within the queue. */
  readonly id: string
  readonly name: string
  readonly data: ForwardedCallback
  readonly options: object
  readonly retentionMs: number
}

/**
 * Resolves once the queue has the job, to whether it was added now. BullMQ alone is not enough. A second job with the same
 * `jobId` is ignored silently, and the id is forgotten when the job is cleaned. On Redis, `deduplication` forgets a job that
 * `queue.clean()` removes; on PostgreSQL it does not. Therefore on Redis a key of our own remembers the job as well.
 */
export async function addOnce(queue: JobQueue, job: JobToAdd, signal: AbortSignal): Promise<boolean> {
  const { id, name, data, options, retentionMs } = job
  // Each attempt has a new id. If the queue answers with another id, it had the callback already. The id has the hash of the body,
  // because the server keeps the id longer than the job.
  const bodyHash = createHash('sha256').update(data.body).digest('hex').slice(0, 32)
  const jobId = `${id}-${bodyHash}-${randomBytes(4).toString('hex')}`
  const keys = await redisKeysOf(queue)
  const key = `${queue.toKey?.('countersign')}:${id}`
  const known = await keys?.get(key)
  // The answer may have come late, from a server that could not be reached.
  signal.throwIfAborted()
  // An operator decided that it is handled again.
  if (data.byOperator) {
    idOf(await queue.add(name, data, { ...options, jobId }))
    return true
  }
  if (known) return refuseOtherBody(jobId, known)
  const deduplication = { id, ttl: retentionMs }
  let addedId
  try {
    addedId = idOf(await queue.add(name, data, { ...options, jobId, deduplication }))
  } catch (error) {
    await forgetFailedAdd(queue, error, id, jobId)
    throw error
  }
  await keys?.set(key, addedId, { PX: retentionMs })
  return addedId === jobId || refuseOtherBody(jobId, addedId)
}

/** @throws KeyReusedError if the queue has the callback with another body */
function refuseOtherBody(jobId: string, knownId: string): false {
  const [body, knownBody] = [jobId, knownId].map((id) => /-([0-9a-f]{32})-[0-9a-f]{8}$/.exec(id)?.[1])
  if (knownBody === undefined || knownBody === body) return false
  throw new KeyReusedError('the queue has a callback with this idempotency key and another body')
}

/** @throws TypeError for an object that is not a queue of BullMQ: it may not have the job */
function idOf(added: { readonly id?: string | undefined }): string {
  if (typeof added.id === 'string') return added.id
  throw new TypeError('add() returned no id of a job: pass a Queue of BullMQ')
}
