import { Queue, Worker, type createPostgresBackend, type JobsOptions } from 'bullmq'
import { forwardedEvent, forwardTo, handleForwarded, type ForwardedCallback } from '../../src/bullmq.js'
import { createReceiver, type CallbackPayload, type ReceiverOptions } from '../../src/index.js'
import { equal } from './equal.js'

declare const subscriptions: ReceiverOptions['subscriptions']
declare const postgres: typeof createPostgresBackend

interface Events {
  'transfers.book-completed': { readonly Id: string; readonly amount: number }
  'accounts.closed': { readonly Id: string; readonly closedAt: string }
}

// The user's own queue, whatever its types are, on Redis and on PostgreSQL.
const queue = new Queue<ForwardedCallback>('callbacks', { connection: {} })
const receiver = createReceiver<Events>({ subscriptions })
receiver.on('accounts.closed', forwardTo(queue)).onAny(forwardTo(queue)).onUnhandled(forwardTo(queue))
forwardTo(new Queue('callbacks', { connection: {} }))
forwardTo(new Queue('callbacks', { connection: { connectionString: 'postgres://' } }, postgres))
forwardTo({ name: 'mine', add: async () => ({ id: '1' }) })
// @ts-expect-error the jobs of this queue have other data
forwardTo(new Queue<{ to: string }>('mail', { connection: {} }))

// BullMQ's own options for jobs, except those that the hand-off sets.
forwardTo(queue, { jobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 1_000 }, priority: 1 } })
forwardTo(queue, { name: (event) => event.type, retentionMs: 1, timeoutMs: undefined })
const options: Omit<JobsOptions, 'jobId' | 'deduplication' | 'repeat'> = { removeOnComplete: true }
forwardTo(queue, { jobOptions: options })
// @ts-expect-error BullMQ has no such option
forwardTo(queue, { jobOptions: { attempt: 5 } })
// @ts-expect-error the hand-off sets it
forwardTo(queue, { jobOptions: { jobId: '1' } })
// @ts-expect-error the hand-off sets it
forwardTo(queue, { jobOptions: { deduplication: { id: '1' } } })

void new Worker<ForwardedCallback>(
  'callbacks',
  async (job) => {
    const event = forwardedEvent<Events>(job)
    equal<Buffer>()(event.rawBody)
    equal<Date>()(event.signedAt)
    equal<string>()(event.subscription.id)
    // @ts-expect-error an event does not carry the secret
    void event.subscription.secret
    if (event.type === 'accounts.closed') equal<string>()(event.payload.closedAt)
    else equal<number>()(event.payload.amount)
    equal<CallbackPayload>()(forwardedEvent(job).payload)
  },
  { connection: {} },
)

const processor = handleForwarded<Events>({
  'accounts.closed': (event, context) => {
    equal<string>()(event.payload.closedAt)
    equal<AbortSignal>()(context.signal)
  },
})
void new Worker('callbacks', processor, { connection: {} })
void new Worker<ForwardedCallback>('callbacks', handleForwarded({ 'a.b': async () => {} }), {
  connection: {},
})
handleForwarded({
  'a.b': (event, { attempt }) => {
    equal<CallbackPayload>()(event.payload)
    equal<number>()(attempt)
  },
})
// @ts-expect-error the payload is that of the event type
handleForwarded<Events>({ 'accounts.closed': ({ payload }: { payload: { amount: Date } }) => payload })
// @ts-expect-error a map has been declared, and this type is not in it
handleForwarded<Events>({ 'accounts.close': () => {} })
// @ts-expect-error BullMQ renews the lock of a job: there is no lease
handleForwarded({}, { leaseMs: 1 })
