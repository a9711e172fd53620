import { SYSTEM } from '../../src/base/environment.js'
import type { CallbackEvent, EntryId, Handler, HandlerContext } from '../../src/index.js'
import { EventChannel } from '../../src/events/event-channel.js'
import { ListenerErrors } from '../../src/events/listener-errors.js'
import type { DeadEvent, FailedEvent } from '../../src/events/lifecycle-events.js'
import { Dispatcher } from '../../src/handlers/dispatcher.js'
import { Handlers } from '../../src/handlers/handlers.js'
import type { StandardSchema } from '../../src/handlers/standard-schema.js'
import type { Entry } from '../../src/inbox/operations.js'
import type { WholeInbox } from './whole-inbox.js'
import { MemoryInbox } from './whole-inbox.js'
import type { MaybePending } from '../../src/base/pending.js'
import type { AddResult, Arrival } from '../../src/inbox/engine.js'
import { ENGINE } from '../../src/inbox/inbox.js'
import type { InboxState } from '../../src/inbox/states.js'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import type { WorkerParts } from '../../src/worker/worker-parts.js'
import { Worker } from '../../src/worker/worker.js'
import { store } from '../../src/receiver/durable-acceptance.js'
import { arrival, type ArrivalOptions } from './arrivals.js'
import { collectedLog, type CollectedLog } from './collected-log.js'
import { fakeClock, type FakeClock } from './fake-clock.js'
import { deferred } from './deferred.js'
import { subscription } from './subscription.js'
import { LIMIT_MS, nextLook, until } from './until.js'

/** A call of a handler, which goes on until the test ends it, unless the handler that was given does so itself. */
export interface Run {
  readonly event: CallbackEvent
  readonly context: HandlerContext
  readonly succeed: () => void
  readonly fail: (error: unknown) => void
  isOver: boolean
}

interface RunningWorker {
  readonly worker: Worker
  readonly inbox: WholeInbox
  readonly log: CollectedLog
  readonly clock: FakeClock
  /** The calls of the handler, in order. */
  readonly runs: Run[]
  readonly events: EventChannel
  /** What has been published of attempts that failed. */
  readonly failures: (FailedEvent | DeadEvent)[]
  /** How many calls of the handler go on. */
  underWay(): number
  /** Stores a callback as a receiver does. */
  receive(arrived: Arrival): MaybePending<AddResult>
  /** Stores a callback as a receiver of another process would, without waking the worker, and resolves to its id. */
  store(options?: ArrivalOptions): Promise<EntryId>
  /** Waits until the entry is in this state, and has been tried so often. */
  becomes(id: EntryId, state: InboxState, attempts?: number): Promise<Entry>
  /** Waits until the handler has been called so often. */
  called(times: number): Promise<Run>
}

export interface WorkOptions extends Partial<Omit<WorkerParts, 'inbox'>> {
  readonly inbox?: WholeInbox
  readonly clock?: FakeClock
  /** `'manual'`: each call is ended by the test. @default returns at once */
  readonly handler?: Handler | 'manual'
  readonly timeoutMs?: number
  /** Which types have the handler. @default that of the subscription */
  readonly types?: readonly string[]
  readonly schema?: StandardSchema
  readonly start?: boolean
}

const running: RunningWorker[] = []
afterEach(() =>
  Promise.all(
    running.splice(0).map(({ worker, runs }) => {
      for (const { succeed } of runs) succeed()
      return worker.stop(1_000)
    }),
  ),
)

/**
 * A worker that runs until the test is over. Its inbox is in memory and has a clock that stands still, so that nothing is
 * due again, and no lease runs out, before the test says so.
 */
export function work({
  clock = fakeClock(),
  inbox = new MemoryInbox({ clock }),
  handler = () => {},
  timeoutMs = 10_000,
  types = [subscription.eventTypeName],
  schema,
  start = true,
  leaseMs = 60_000,
  ...options
}: WorkOptions = {}): RunningWorker {
  const log = collectedLog()
  const runs: Run[] = []
  const failures: (FailedEvent | DeadEvent)[] = []
  const listenerErrors = new ListenerErrors(log)
  const events = new EventChannel((error, event) => listenerErrors.write(error, event))
  events.on('failed', (event) => failures.push(event))
  events.on('dead', (event) => failures.push(event))
  const handlers = new Handlers(timeoutMs, Infinity)
  for (const type of types) handlers.on(type, (event, context) => begin(event, context))
  const schemas = new Map(schema && types.map((type) => [type, schema]))
  const dispatcher = new Dispatcher({
    handlers,
    schemas,
    schemaTimeoutMs: 5_000,
    logger: log,
    environment: SYSTEM,
  })
  const worker = new Worker({
    inbox: inbox[ENGINE],
    handlers,
    dispatcher,
    concurrency: 10,
    maxAttempts: 3,
    leaseMs,
    pollMs: 5,
    retryDelayMs: 1_000,
    maxRetryDelayMs: 60_000,
    clock,
    logger: log,
    secrets: new KnownSecrets(),
    events,
    environment: SYSTEM,
    ...options,
  })
  if (start) worker.start()

  async function begin(event: CallbackEvent, context: HandlerContext): Promise<void> {
    const { promise, resolve, reject } = deferred()
    const run: Run = { event, context, succeed: resolve, fail: reject, isOver: false }
    runs.push(run)
    try {
      await (handler === 'manual' ? promise : handler(event, context))
    } finally {
      run.isOver = true
    }
  }

  const all: RunningWorker = {
    worker,
    inbox,
    log,
    clock,
    runs,
    events,
    failures,
    underWay: () => runs.filter(({ isOver }) => !isOver).length,
    receive: (arrived) => store({ inbox: inbox[ENGINE], worker }, arrived),
    store: async (given) => (await inbox.add(arrival(given))).id,
    becomes: (id, state, attempts) => becomes(inbox, id, state, attempts),
    async called(times) {
      await until(() => runs.length >= times)
      return runs[times - 1]!
    },
  }
  running.push(all)
  return all
}

/** Waits until an entry is in this state, and has been tried so often. */
export async function becomes(
  inbox: WholeInbox,
  id: EntryId,
  state: InboxState,
  attempts?: number,
): Promise<Entry> {
  const startedAt = performance.now()
  for (let looks = 0; ; looks++) {
    const entry = await inbox.show(id)
    if (entry?.state === state && (attempts ?? entry.attempts) === entry.attempts) return entry
    if (performance.now() - startedAt > LIMIT_MS)
      throw new Error(`entry ${id} is ${entry?.state}, not ${state}`)
    await nextLook(looks)
  }
}
