import { hash } from 'node:crypto'
import { loggerOption, type Logger } from '../logging/logger.js'
import { checkKnownOptions, functionOption, integerOption } from '../base/option-checks.js'
import { CompletedKeys, type Delivery } from './completed-keys.js'
import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from './store.js'

export interface MemoryIdempotencyStoreOptions {
  /**
   * How long a completed key is remembered, in milliseconds.
   * @default 172_800_000 (48 hours)
   */
  readonly retentionMs?: number | undefined
  /**
   * How many completed keys are remembered, from 1 to 100_000_000; one takes about 65 bytes, and a delivery that
   * came again signed anew counts as one more. Beyond it the oldest are forgotten early, and a warning
   * `WARN_KEYS_FORGOTTEN_EARLY` is logged, at most once a minute.
   * @default 1_000_000
   */
  readonly maxKeys?: number | undefined
  /**
   * The current time, in milliseconds.
   * @default the process's monotonic clock, which goes on evenly when the clock of the machine is set
   */
  readonly clock?: (() => number) | undefined
  /** pino, console, or alike; `false` for none. @default warnings and errors go to standard error */
  readonly logger?: Logger | false | undefined
}

/**
 * Remembers handled keys in this process: nothing survives a restart, and no other process sees it. Each step is
 * synchronous, which makes it atomic; there are no timers, so there is nothing to close.
 */
export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly retentionMs: number
  readonly #clock: () => number
  readonly #forgettingLog: ForgettingLog
  readonly #completed: CompletedKeys
  /** Claims that hold their key, and those whose lease has run out without anybody noticing yet. */
  readonly #running = new Map<string, Holding>()
  readonly #holdersBySignature = new Map<string, Holding>()
  /** Claims that ended without completion, oldest first: how often a key was tried, and who may still complete it. */
  readonly #ended = new Map<string, Holding>()
  #patrol = this.#running.values()

  constructor(options: MemoryIdempotencyStoreOptions = {}) {
    checkKnownOptions(OWNER, options, KNOWN)
    const maxKeys = integerOption(OWNER, 'maxKeys', options.maxKeys, {
      fallback: 1_000_000,
      min: 1,
      max: 100_000_000,
    })
    this.retentionMs = integerOption(OWNER, 'retentionMs', options.retentionMs, {
      fallback: 172_800_000,
      min: 1,
    })
    this.#clock = functionOption(OWNER, 'clock', options.clock, monotonicClock)
    this.#forgettingLog = new ForgettingLog(maxKeys, loggerOption(OWNER, options.logger))
    this.#completed = new CompletedKeys(maxKeys)
  }

  // The methods are async for a throw inside to become a rejection; none may await before it is done.
  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const { bodyHash, signature, leaseMs } = request
    if (!(leaseMs > 0)) throw new TypeError(`leaseMs of a claim must be more than 0, and is ${leaseMs}`)
    const now = this.#clock()
    this.#expire(now)

    // Hashed, as a key may be thousands of characters long and ended claims are remembered for days.
    const key = hash('sha256', request.key, 'base64')
    const delivery = { key, bodyHash, signature }
    const running = this.#unexpired(this.#running.get(key), now)
    const finding = this.#completed.find(delivery, now)
    if (finding === 'conflict' || (running && running.bodyHash !== bodyHash)) return { state: 'conflict' }

    const holder = this.#unexpired(this.#holdersBySignature.get(signature), now)
    if (finding === 'replay' || (holder && holder !== running)) return { state: 'replay' }

    if (running) {
      if (!holder) this.#hold(running, signature)
      return { state: 'in-progress' }
    }
    if (finding === 'completed-with-other-signature') this.#remember(delivery, now)
    if (finding !== 'unknown') return { state: 'completed' }
    return { state: 'claimed', claim: this.#take(delivery, now, leaseMs) }
  }

  #take({ key, bodyHash, signature }: Delivery, now: number, leaseMs: number): Claim {
    const previous = this.#ended.get(key)
    if (previous) {
      previous.state = 'lost'
      this.#ended.delete(key)
    }
    const attempt = (previous?.attempt ?? 0) + 1
    const holding: Holding = {
      key,
      bodyHash,
      signatures: [],
      claimedAt: now,
      leaseUntil: now + leaseMs,
      attempt,
      state: 'open',
    }
    this.#running.set(key, holding)
    this.#hold(holding, signature)
    return {
      attempt,
      complete: async () => this.#complete(holding),
      release: async () => this.#release(holding),
    }
  }

  #hold(holding: Holding, signature: string): void {
    holding.signatures.push(signature)
    this.#holdersBySignature.set(signature, holding)
  }

  #complete(holding: Holding): boolean {
    if (holding.state !== 'open') return holding.state === 'completed'
    const now = this.#clock()
    this.#letGo(holding)
    this.#ended.delete(holding.key)
    holding.state = 'completed'
    const { key, bodyHash } = holding
    for (const signature of holding.signatures) this.#remember({ key, bodyHash, signature }, now)
    return true
  }

  #release(holding: Holding): void {
    if (holding.state !== 'open') return
    this.#end(holding, this.#clock())
    holding.state = 'lost'
  }

  #remember(delivery: Delivery, now: number): void {
    const forgotEarly = this.#completed.add(delivery, now + this.retentionMs, now)
    if (forgotEarly) this.#forgettingLog.add(now)
  }

  /** The holding if its lease still runs; ends it otherwise. */
  #unexpired(holding: Holding | undefined, now: number): Holding | undefined {
    if (holding && holding.claimedAt > now) {
      // The clock was set back since: without this the key would be claimed until the clock is where it was.
      holding.leaseUntil -= holding.claimedAt - now
      holding.claimedAt = now
    }
    if (!holding || holding.leaseUntil > now) return holding
    this.#end(holding, holding.leaseUntil)
    return undefined
  }

  #end(holding: Holding, at: number): void {
    this.#letGo(holding)
    holding.leaseUntil = at
    this.#ended.delete(holding.key)
    this.#ended.set(holding.key, holding)
    if (this.#ended.size > MAX_ENDED) this.#forgetOldestEnded()
  }

  #letGo(holding: Holding): void {
    this.#running.delete(holding.key)
    // Signatures too: or a captured delivery that was sent under a key of the attacker's, and failed, would lock out
    // the genuine one. After the end of a lease another key may hold them already.
    for (const signature of holding.signatures) {
      if (this.#holdersBySignature.get(signature) === holding) this.#holdersBySignature.delete(signature)
    }
  }

  #forgetOldestEnded(): void {
    for (const [key, holding] of this.#ended) {
      // Whether somebody else takes the key from here on is not known any more, so it may not be completed.
      holding.state = 'lost'
      this.#ended.delete(key)
      return
    }
  }

  /** A few steps only: a store that has been idle for days must not make one caller wait for all that has expired. */
  #expire(now: number): void {
    this.#completed.removeExpired(now, 4)
    for (const { leaseUntil } of this.#ended.values()) {
      if (leaseUntil + this.retentionMs <= now) this.#forgetOldestEnded()
      break
    }
    // Goes round all claims in the course of many calls, to find those that were neither completed nor released.
    for (let step = 0; step < 2; step++) {
      const next = this.#patrol.next()
      if (next.done) {
        this.#patrol = this.#running.values()
        return
      }
      this.#unexpired(next.value, now)
    }
  }
}

// By the clock of the machine, all would be forgotten when it is set a week ahead, and a replay would be handled again.
const monotonicClock = (): number => performance.timeOrigin + performance.now()

const OWNER = 'MemoryIdempotencyStore'

const KNOWN = Object.keys({
  retentionMs: true,
  maxKeys: true,
  clock: true,
  logger: true,
} satisfies Record<keyof MemoryIdempotencyStoreOptions, true>)

const MAX_ENDED = 10_000

/** A claim as the store sees it. */
interface Holding {
  readonly key: string
  readonly bodyHash: string
  /** All that the callback was delivered with, as duplicates that arrive meanwhile may be signed anew. */
  readonly signatures: string[]
  /** When its lease began, or when the clock was found to have been set back since. */
  claimedAt: number
  leaseUntil: number
  readonly attempt: number
  /** `open` may still complete, even when its lease has run out; `lost` may not. */
  state: 'open' | 'completed' | 'lost'
}

/** Says that keys had to be forgotten early, once a minute, as at its limit the store forgets one per callback. */
class ForgettingLog {
  #count = 0
  #lastLoggedAt = -Infinity
  readonly #maxKeys: number
  readonly #logger: Logger

  constructor(maxKeys: number, logger: Logger) {
    this.#maxKeys = maxKeys
    this.#logger = logger
  }

  add(now: number): void {
    this.#count++
    // Less than zero after the clock was set back.
    const elapsed = now - this.#lastLoggedAt
    if (elapsed >= 0 && elapsed < 60_000) return
    const forgotten = this.#count
    this.#count = 0
    this.#lastLoggedAt = now
    this.#logger.warn(
      { code: 'WARN_KEYS_FORGOTTEN_EARLY', forgotten, maxKeys: this.#maxKeys },
      `forgot ${forgotten} completed keys before their time, as there may be no more than ${this.#maxKeys}: a callback ` +
        'that comes again would be handled again. Raise maxKeys, or use a durable store',
    )
  }
}
