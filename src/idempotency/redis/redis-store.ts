import { hash, randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { HasAll } from '../../base/has-all.js'
import { checkKnownOptions, integerOption, invalidOption } from '../../base/option-checks.js'
import type { Logger } from '../../logging/logger.js'
import { loggerOption, type LoggerOption } from '../../logging/logger-option.js'
import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from '../store.js'
import { batched } from './batched.js'
import { checkDurability } from './durability-check.js'
import { commandSender, type RedisClient, type SendCommand } from './redis-client.js'
import { redisError } from './redis-error.js'
import { runScript, type ScriptItem } from './run-script.js'
import { CLAIM, COMPLETE, RELEASE, type Script } from './scripts.js'
import { whenServed } from './when-served.js'
import { setMaxListeners } from 'node:events'

/** Options of `RedisIdempotencyStore`. */
export interface RedisIdempotencyStoreOptions extends LoggerOption {
  /**
   * Your client: of the package `redis` 5 or 6 (`createClient`, `createClientPool`, `createCluster`, `createSentinel`), or
   * of `ioredis` 5 (`Redis`, `Cluster`). You connect it, listen to its `error` events, and close it.
   */
  readonly client: RedisClient
  /**
   * What the keys of the store in Redis begin with, in braces: 1 to 100 letters, digits, `.`, `_`, `-` and `:`. Receivers
   * of the same callbacks must have the same prefix.
   * @default 'countersign'
   */
  readonly prefix?: string | undefined
  /**
   * How long a completed key is remembered, in milliseconds.
   * @default 172_800_000 (48 hours)
   */
  readonly retentionMs?: number | undefined
}

/**
 * Remembers handled keys in Redis, for any number of processes that share the server. Each step is one run of a script, which
 * Redis runs atomically. The server's clock decides when a lease has ended. Whether completed keys survive a crash of the server
 * depends on its configuration: see docs/redis.md.
 */
export class RedisIdempotencyStore implements IdempotencyStore {
  readonly retentionMs: number
  readonly #send: SendCommand
  readonly #claim: RunScript
  readonly #complete: RunScript
  readonly #release: RunScript
  readonly #logger: Logger
  // A signature must be found under every other key, of another subscription as well: the event type, which selects the
  // subscription, is not signed, and subscriptions may share a secret and a URL. No part of a callback is common to all
  // that must be compared with it, so all keys of a store have one hash tag and are in one slot of a cluster.
  readonly #base: string
  #opened: Promise<void> | undefined

  /** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
  constructor(options: RedisIdempotencyStoreOptions) {
    checkKnownOptions(OWNER, options, KNOWN)
    const { client, prefix = 'countersign', retentionMs } = options
    const send = commandSender(OWNER, client)
    this.#send = async (...command) => {
      try {
        return await send(...command)
      } catch (error) {
        throw redisError(error)
      }
    }
    if (typeof prefix !== 'string' || !/^[\w.:-]{1,100}$/.test(prefix))
      throw invalidOption(
        OWNER,
        'prefix',
        prefix,
        'use 1 to 100 letters, digits, ".", "_", "-" and ":"; the store adds the braces of the hash tag',
      )
    this.#base = `{${prefix}}:`
    this.retentionMs = integerOption(OWNER, 'retentionMs', retentionMs, { fallback: 172_800_000, min: 1 })
    this.#logger = loggerOption(OWNER, options.logger)
    const inBatches = (script: Script, signal?: () => AbortSignal) =>
      batched((items: readonly ScriptItem[]) =>
        runScript(this.#send, script, { items, retentionMs: this.retentionMs, signal: signal?.() }),
      )
    this.#claim = inBatches(CLAIM, queueLimit(QUEUE_LIMIT_MS))
    this.#complete = inBatches(COMPLETE)
    this.#release = inBatches(RELEASE)
  }

  /**
   * Connects to the server for the first time and warns of settings with which it may forget completed keys. The receiver
   * calls it at its start. Otherwise the first claim that the server has answered begins it, and does not wait for it.
   */
  open(): Promise<void> {
    this.#opened ??= checkDurability(this.#send, this.#base, this.#logger).catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const { bodyHash, signature, leaseMs } = request
    if (!(leaseMs > 0)) throw new TypeError(`leaseMs of a claim must be more than 0, and is ${leaseMs}`)
    const key = shortened(hash('sha256', request.key, 'base64'))
    const signatureId = shortened(signature)
    const body = shortened(bodyHash)
    const token = randomUUID()
    const endsAt = performance.now() + leaseMs
    const reply = await this.#claim({
      keys: [
        `${this.#base}c:${key}`,
        `${this.#base}k:${key}`,
        `${this.#base}h:${signatureId}`,
        `${this.#base}s:${signatureId}`,
      ],
      argument: body + token + String(Math.ceil(leaseMs)),
    })
    // Not before: without a connection, every claim would add the commands of the check to the client's queue.
    if (!this.#opened) this.open().catch(() => {})
    const [, attempt, leaseEnd] = /^claimed (\d+) (\d+)$/.exec(reply) ?? []
    if (attempt && leaseEnd)
      return {
        state: 'claimed',
        claim: this.#claimOf({ key, body, token, attempt: Number(attempt), leaseEnd, endsAt }),
      }
    if (reply === 'in-progress' || reply === 'completed' || reply === 'conflict' || reply === 'replay')
      return { state: reply }
    throw refusal(reply)
  }

  #claimOf({ key, body, token, attempt, leaseEnd, endsAt }: GrantedClaim): Claim {
    const claimKey = `${this.#base}c:${key}`
    let isCompleted = false
    let isReleased = false
    return {
      attempt,
      complete: async () => {
        if (isCompleted) return true
        const keys = [claimKey, `${this.#base}k:${key}`] as const
        const complete = () =>
          this.#complete({ keys, argument: body + token + (isReleased ? '0' : leaseEnd) })
        const reply = await whenServed(complete, endsAt)
        if (reply !== 'completed' && reply !== 'lost') throw refusal(reply)
        isCompleted = reply === 'completed'
        return isCompleted
      },
      release: async () => {
        isReleased = true
        const release = () => this.#release({ keys: [claimKey], argument: token })
        const reply = await whenServed(release, endsAt)
        if (reply !== 'released' && reply !== 'lost') throw refusal(reply)
      },
    }
  }
}

interface GrantedClaim {
  readonly key: string
  readonly body: string
  readonly token: string
  readonly attempt: number
  /** By the clock of the server, in milliseconds. */
  readonly leaseEnd: string
  /** The end of the lease by `performance.now()`. */
  readonly endsAt: number
}

type RunScript = (item: ScriptItem) => Promise<string>

const OWNER = 'RedisIdempotencyStore'

const KNOWN = [
  'client',
  'prefix',
  'retentionMs',
  'logger',
] as const satisfies readonly (keyof RedisIdempotencyStoreOptions)[]
void (true satisfies HasAll<keyof RedisIdempotencyStoreOptions, typeof KNOWN>)

/**
 * How long a client without a connection keeps a claim in its queue, in milliseconds. The sender has been answered 503 long
 * before. Ends of claims stay in the queue: they are few, and a late record prevents that the callback is handled again.
 */
const QUEUE_LIMIT_MS = 5_000

/** 132 of the 256 bits of a hash, in Base64. Finding two inputs that share them takes 2^66 attempts. Saves 42 bytes per key. */
function shortened(base64: string): string {
  if (/^[A-Za-z0-9+/]{43}=$/.test(base64)) return base64.slice(0, 22)
  throw new TypeError('bodyHash and signature of a claim must each be 32 bytes in Base64 (44 characters)')
}

/** An error of the server. Any other reply is most likely that of a module or a proxy that answers in place of the script. */
const refusal = (reply: string) =>
  reply.startsWith('error ')
    ? redisError(new Error(reply.slice(6)))
    : new TypeError(
        `Redis replied ${JSON.stringify(reply.slice(0, 40))} where the state of a claim was expected`,
      )

/**
 * Returns the signal that abandons a command which the client could not write to a connection within about `limitMs`. Commands
 * of the same tenth of a second share a signal: a signal and a timer for each of them cost about as much as the command.
 */
export function queueLimit(limitMs: number): () => AbortSignal {
  let shared: AbortSignal | undefined
  return () => {
    if (shared) return shared
    const controller = new AbortController()
    // Every command that waits listens to it. Node prints a warning about a leak from the eleventh listener on.
    setMaxListeners(Infinity, controller.signal)
    setTimeout(() => (shared = undefined), SHARED_MS).unref()
    setTimeout(() => controller.abort(), limitMs).unref()
    return (shared = controller.signal)
  }
}

const SHARED_MS = 100
