import { hash } from 'node:crypto'
import type { Logger } from '../logging/logger.js'
import { loggerOption, type LoggerOption } from '../logging/logger-option.js'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, clockOption, integerOption } from '../base/option-checks.js'
import { recognise, type KnownOfArrival } from '../callback/recognition.js'
import { CompletedKeys, type HashedCallback } from './completed-keys.js'
import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from './store.js'

export interface MemoryIdempotencyStoreOptions extends LoggerOption {
  /**
   * How long a completed key is remembered, in milliseconds.
   * @default 172_800_000 (48 hours)
   */
  readonly retentionMs?: number | undefined
  /**
   * How many completed keys are remembered, from 1 to 100_000_000. A key uses about 65 bytes. A repeat with a new
   * signature counts as another key. Above the limit the oldest keys are removed, and the warning
   * `WARN_KEYS_FORGOTTEN_EARLY` is logged, at most once a minute.
   * @default 1_000_000
   */
  readonly maxKeys?: number | undefined
  /**
   * The current time, in milliseconds.
   * @default the process's monotonic clock, which does not change when the clock of the machine is set
   */
  readonly clock?: (() => number) | undefined
}

/**
 * Remembers handled keys in this process. Nothing survives a restart, and other processes do not share it. Each step is
 * synchronous and therefore atomic. The store has no timers, so it needs no `close()`.
 */
export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly retentionMs: number
  readonly #clock: () => number
  readonly #warnOfForgotten: (now: number) => void
  readonly #completed: CompletedKeys
  /** Claims that hold their key, and claims with an expired lease that were not removed yet. */
  readonly #running = new Map<string, Holding>()
  readonly #holdersBySignature = new Map<string, Holding>()
  /**
   * Claims that ended without completion, oldest first: the attempts of a key, and the claim that may still complete it.
   */
  readonly #ended = new Map<string, Holding>()
  #patrol: IterableIterator<Holding> | undefined

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
    this.#clock = clockOption(OWNER, options.clock, monotonicClock)
    this.#warnOfForgotten = forgettingWarning(maxKeys, loggerOption(OWNER, options.logger))
    this.#completed = new CompletedKeys(maxKeys)
  }

  /** @throws TypeError for a request without a lease, or with hashes that are not Base64 */
  claim(request: ClaimRequest): ClaimResult | Promise<ClaimResult> {
    const { bodyHash, signature, leaseMs } = request
    if (!(leaseMs > 0)) throw new TypeError(`leaseMs of a claim must be more than 0, and is ${leaseMs}`)
    const now = this.#clock()
    this.#expire(now)

    // Hashed, because a key may have thousands of characters, and ended claims are remembered for days.
    const key = hash('sha256', request.key, 'base64')
    const callback = { key, bodyHash, signature }
    const running = this.#unexpired(this.#running.get(key), now)
    const holder = this.#unexpired(this.#holdersBySignature.get(signature), now)
    const completed = this.#completed.find(callback, now)
    const known: KnownOfArrival = {
      key: running ? (running.bodyHash === bodyHash ? 'same-body' : 'other-body') : completed.key,
      signature: holder ? (holder === running ? 'same-key' : 'other-key') : completed.signature,
      // Suspect callbacks are refused earlier, and completed keys are remembered longer than callbacks are
      // accepted.
      isSuspect: false,
      isForgotten: false,
    }
    const recognition = recognise(known)
    if (recognition === 'conflict' || recognition === 'replay') return { state: recognition }
    if (recognition !== 'duplicate') return { state: 'claimed', claim: this.#take(callback, now, leaseMs) }
    if (running) {
      if (!holder) {
        running.signatures.push(signature)
        this.#holdersBySignature.set(signature, running)
      }
      return { state: 'in-progress' }
    }
    if (known.signature === 'unknown') this.#remember(callback, now)
    return { state: 'completed' }
  }

  #take({ key, bodyHash, signature }: HashedCallback, now: number, leaseMs: number): Claim {
    const previous = this.#ended.get(key)
    if (previous) {
      previous.state = 'lost'
      this.#ended.delete(key)
    }
    const attempt = (previous?.attempt ?? 0) + 1
    const holding: Holding = {
      key,
      bodyHash,
      signatures: [signature],
      claimedAt: now,
      leaseUntil: now + leaseMs,
      attempt,
      state: 'open',
    }
    this.#running.set(key, holding)
    this.#holdersBySignature.set(signature, holding)
    return {
      attempt,
      complete: () => this.#complete(holding),
      release: () => this.#release(holding),
    }
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

  #remember(callback: HashedCallback, now: number): void {
    const forgotEarly = this.#completed.add(callback, now + this.retentionMs, now)
    if (forgotEarly) this.#warnOfForgotten(now)
  }

  /** The holding if its lease is valid. Otherwise the holding ends. */
  #unexpired(holding: Holding | undefined, now: number): Holding | undefined {
    if (holding && holding.claimedAt > now) {
      // The clock was set back. Without this the key would stay claimed until the clock has reached its old time.
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
    // Signatures too. Otherwise a captured delivery that an attacker sent with another key, and that failed, would block
    // the genuine one. After the end of a lease another key may already hold them.
    for (const signature of holding.signatures) {
      if (this.#holdersBySignature.get(signature) === holding) this.#holdersBySignature.delete(signature)
    }
  }

  #forgetOldestEnded(): void {
    for (const [key, holding] of this.#ended) {
      // The store no longer knows whether another caller claims the key, so this claim may not complete.
      holding.state = 'lost'
      this.#ended.delete(key)
      return
    }
  }

  /** A few steps per call, so that after days without calls no caller waits for the removal of all expired claims. */
  #expire(now: number): void {
    this.#completed.removeExpired(now, 4)
    for (const { leaseUntil } of this.#ended.values()) {
      if (leaseUntil + this.retentionMs <= now) this.#forgetOldestEnded()
      break
    }
    // Many calls together visit all claims, to find those that were neither completed nor released.
    for (let step = 0; step < 2; step++) {
      const next = this.#running.size > 0 ? (this.#patrol ??= this.#running.values()).next() : undefined
      if (!next || next.done) {
        // An iterator that nobody advances keeps every later table of its Map in memory.
        this.#patrol = undefined
        return
      }
      this.#unexpired(next.value, now)
    }
  }
}

// If the clock of the machine were used and set a week ahead, all keys would expire, and a replay would be handled again.
const monotonicClock = (): number => performance.timeOrigin + performance.now()

const OWNER = 'MemoryIdempotencyStore'

const KNOWN = [
  'retentionMs',
  'maxKeys',
  'clock',
  'logger',
] as const satisfies readonly (keyof MemoryIdempotencyStoreOptions)[]
void (true satisfies HasAll<keyof MemoryIdempotencyStoreOptions, typeof KNOWN>)

const MAX_ENDED = 10_000

/** The state of a claim. */
interface Holding {
  readonly key: string
  readonly bodyHash: string
  /** All signatures of the callback, because duplicates that arrive during the claim may have a new signature. */
  readonly signatures: string[]
  /** When its lease began, or when a step back of the clock was noticed. */
  claimedAt: number
  leaseUntil: number
  readonly attempt: number
  /** `open` may still complete, even after its lease has expired. `lost` may not. */
  state: 'open' | 'completed' | 'lost'
}

/** Warns that keys were removed early. Once a minute, because a full store removes one key per callback. */
function forgettingWarning(maxKeys: number, logger: Logger): (now: number) => void {
  let count = 0
  let lastLoggedAt = -Infinity
  return (now) => {
    count++
    // Negative after the clock was set back.
    const elapsed = now - lastLoggedAt
    if (elapsed >= 0 && elapsed < 60_000) return
    const forgotten = count
    count = 0
    lastLoggedAt = now
    logger.warn(
      { code: 'WARN_KEYS_FORGOTTEN_EARLY', forgotten, maxKeys },
      `removed ${forgotten} completed keys early, because the limit is ${maxKeys}: a repeat of their callbacks would be ` +
        'handled again. Raise maxKeys, or use a durable store',
    )
  }
}
