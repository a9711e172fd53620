import type {
  CallbackEvent,
  CallbackPayload,
  CallbackRequest,
  VerifiedCallback,
} from '../callback/callback.js'
import type { Handlers } from '../handlers/handlers.js'
import { delay, type Environment } from '../base/environment.js'
import { property } from '../base/foreign-value.js'
import { isPending, started, type MaybePending } from '../base/pending.js'
import { settledWithin, withTimeout } from '../base/timeout.js'
import type { Logger } from '../logging/logger.js'
import { parsePayload } from '../callback/payload.js'
import { inboxOutcome, outcome, type Outcome, type OutcomeCode } from '../callback/outcomes.js'
import type { Authenticated, Acceptance } from './acceptance.js'
import { headerKeeper } from './arrived-headers.js'
import type { InFlight } from './in-flight.js'
import { PROBE_MEMORY_MS } from '../probe/probe-limit.js'
import type { AddResult, Arrival, InboxEngine, InboxOpener } from '../inbox/engine.js'
import type { Worker } from '../worker/worker.js'

/** Says which events have to be handled one after the other: those for which it returns the same text. */
export type OrderBy<Event> = (event: Event) => string | undefined

interface DurableAcceptanceParts {
  readonly inbox: InboxEngine
  readonly worker: Worker
  readonly opener: InboxOpener
  readonly handlers: Handlers
  readonly orderBy: OrderBy<never> | undefined
  readonly dependencyTimeoutMs: number
  readonly inFlight: InFlight
  readonly logger: Logger
  readonly environment: Environment
}

/** Stores callbacks before the answer. A worker handles them after it. */
export class DurableAcceptance implements Acceptance {
  readonly #parts: DurableAcceptanceParts
  readonly #keepHeaders = headerKeeper()
  #started: Promise<void> | undefined
  #isOpen = false
  /** Whether a newer version of Countersign has migrated the inbox: this process cannot use it any more. */
  #isOutdated = false
  /** Whether the disk of the inbox has failed, and the inbox could not be opened since. */
  #isFailing = false

  constructor(parts: DurableAcceptanceParts) {
    this.#parts = parts
  }

  get ready(): boolean {
    return this.#isOpen && !this.#isOutdated && !this.#isFailing
  }

  /** Safe to call twice, and again after it failed: the cause of the failure may be gone. */
  start(): Promise<void> {
    return (this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined
      throw error
    }))
  }

  // Without async functions: those of a callback took 4 percent of its processor time.
  accept(
    authenticated: Authenticated,
    request: CallbackRequest,
    traceContext?: string,
  ): MaybePending<Outcome> {
    const { callback } = authenticated
    if (!this.#isOpen) {
      const error = new Error('the inbox is not open: await receiver.start() before the server listens')
      return outcome('ERR_INBOX_UNAVAILABLE', callback, error)
    }
    try {
      const storing = this.#add(authenticated, request, traceContext)
      if (!isPending(storing)) return this.#accepted(storing, authenticated)
      const { dependencyTimeoutMs, inFlight, environment } = this.#parts
      return withTimeout(storing, dependencyTimeoutMs, 'the inbox', { environment })
        .then((added) => this.#accepted(added, authenticated))
        .catch((error: unknown) => {
          // It may still be stored after the answer.
          void inFlight.during(() => storing.then(NOTHING, NOTHING))
          return this.#notAccepted(error, authenticated)
        })
    } catch (error) {
      return this.#notAccepted(error, authenticated)
    }
  }

  rememberProbe(nonce: string, sentAtMs: number): MaybePending<boolean> {
    const { inbox } = this.#parts
    if (!this.#isOpen) return true
    return inbox.rememberProbe(nonce, sentAtMs, sentAtMs - PROBE_MEMORY_MS)
  }

  async idle(): Promise<void> {
    await this.#started?.catch(() => {})
    await this.#parts.worker.idle()
  }

  async stop(limitMs: number): Promise<void> {
    const { worker, inFlight, environment } = this.#parts
    const stored = Promise.allSettled([this.#started, inFlight.ended()])
    await Promise.all([worker.stop(limitMs), settledWithin(stored, limitMs, environment)])
    this.#isFailing = false
    await this.#parts.inbox.close(this.#parts.opener)
  }

  async #start(): Promise<void> {
    const { inbox, worker, handlers, opener } = this.#parts
    await inbox.open(opener)
    this.#isOpen = true
    // Without handlers this process only stores.
    if (!handlers.isEmpty) worker.start()
  }

  /** A load balancer sends nothing to a receiver that is not ready, so no callback would find out that the disk works again. */
  async #openAgain(): Promise<void> {
    this.#isFailing = true
    for (;;) {
      await delay(this.#parts.environment, OPEN_AGAIN_MS, { keepsAlive: false })
      // A callback was stored meanwhile, or the receiver has stopped.
      if (!this.#isFailing) return
      try {
        await this.#parts.inbox.open(this.#parts.opener)
        this.#isFailing = false
      } catch (error) {
        if (property(error, 'code') === 'ERR_CLOSED') return
      }
    }
  }

  #accepted(added: AddResult, authenticated: Authenticated): Outcome {
    this.#isOutdated = this.#isFailing = false
    return inboxOutcome(this.#codeOf(added, authenticated), authenticated.callback, added.id)
  }

  #notAccepted(error: unknown, { callback }: Authenticated): Outcome {
    const code = property(error, 'code')
    if (code === 'ERR_INBOX_NEWER') this.#isOutdated = true
    if (code === 'ERR_INBOX_IO' && !this.#isFailing) void this.#openAgain()
    // The callback may still have been stored. A repeat of the sender is then answered as a duplicate.
    return outcome('ERR_INBOX_UNAVAILABLE', callback, error)
  }

  #add(
    authenticated: Authenticated,
    request: CallbackRequest,
    traceContext: string | undefined,
  ): MaybePending<AddResult> {
    const { callback, identity, verdict } = authenticated
    const event = verdict === 'genuine' ? authenticated.callback : releasedEvent(callback)
    const arrival = {
      callback,
      ...identity,
      suspicion: verdict === 'suspect' ? authenticated.suspicion : undefined,
      orderKey: event && this.#orderKey(event),
      bodyId: bodyIdOf(event?.payload),
      headers: this.#keepHeaders(request.rawHeaders),
      traceContext,
      awaitedUntil: this.#parts.environment.monotonic() + this.#parts.dependencyTimeoutMs,
    }
    return store(this.#parts, arrival, event?.payload)
  }

  // If orderBy fails, the callback is stored without an order: a refused callback could be lost.
  #orderKey(event: CallbackEvent): string | undefined {
    const { orderBy, logger } = this.#parts
    try {
      const key: unknown = orderBy?.(event as never)
      if (key === undefined || typeof key === 'string') return key
      // If orderBy is async, the rejection of its promise would end the process.
      Promise.resolve(key).catch(() => {})
      throw new TypeError(`orderBy returned a value of type ${typeof key}: return a text or undefined`)
    } catch (error) {
      logger.error({ code: 'ERR_ORDER_BY_FAILED', err: error }, 'orderBy failed: the event has no order')
      return undefined
    }
  }

  #codeOf(added: AddResult, authenticated: Authenticated): OutcomeCode {
    switch (added.result) {
      case 'stored': {
        const { handlers } = this.#parts
        // If there are no handlers at all, another process has them.
        const isHandled = handlers.isEmpty || handlers.for(authenticated.callback.type).length > 0
        return isHandled ? 'STORED' : 'ERR_HANDLER_MISSING'
      }
      case 'duplicate':
        return 'DUPLICATE'
      case 'quarantined':
        if (added.why === 'conflict') return 'ERR_IDEMPOTENCY_KEY_REUSED'
        if (added.why === 'replay') return 'ERR_SIGNATURE_REPLAYED'
        if (added.why === 'forgotten') return 'ERR_TIMESTAMP_OUT_OF_TOLERANCE'
        return authenticated.verdict === 'suspect' ? authenticated.suspicion : 'ERR_INTERNAL'
    }
  }
}

/** Stores a callback. If the worker has a slot for it, the entry is stored with its claim. */
export function store(
  { inbox, worker }: Pick<DurableAcceptanceParts, 'inbox' | 'worker'>,
  arrival: Arrival,
  payload?: CallbackPayload,
): MaybePending<AddResult> {
  const slot = worker.reserve(arrival, payload)
  const done = (added: AddResult): AddResult => {
    // The inbox may be code of the application.
    if (added?.result !== 'stored') worker.notStored(slot)
    else worker.stored(slot, added.claim?.id === added.id ? added.claim : undefined)
    return added
  }
  const adding: MaybePending<AddResult> = started(() => inbox.add(arrival, slot?.begins))
  if (!isPending(adding)) return done(adding)
  return adding.then(done, (error: unknown) => {
    worker.mayBeStored(slot)
    throw error
  })
}

/** The event that handlers are given once a suspect callback was released: it keeps its place in the order. */
function releasedEvent(callback: VerifiedCallback): CallbackEvent | undefined {
  const payload = parsePayload(callback.rawBody)
  return payload && { ...callback, type: callback.subscription.eventTypeName, payload, byOperator: false }
}

const OPEN_AGAIN_MS = 1_000
const NOTHING = (): void => {}

/** The longest `Id` by which entries are found, in characters. The documented ones are UUIDs (SERVICE 2.5). */
const MAX_BODY_ID_LENGTH = 200

function bodyIdOf(payload: CallbackPayload | undefined): string | undefined {
  const id: unknown = payload?.Id
  return typeof id === 'string' && id !== '' && id.length <= MAX_BODY_ID_LENGTH ? id : undefined
}
