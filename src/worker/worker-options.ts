import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, clockOption, durationOption, integerOption } from '../base/option-checks.js'
import { dependencyTimeoutOption } from '../callback/authenticator.js'
import type { EventMap } from '../handlers/handlers.js'
import { HANDLING_OPTIONS, parseHandlingOptions, type HandlingOptions } from '../handlers/handling-options.js'
import { inboxOption, type Inbox } from '../inbox/inbox.js'
import type { KnownSecrets } from '../logging/known-secrets.js'

/** How an inbox is emptied. */
export interface EmptyingOptions {
  /** How many entries of the inbox are handled at a time. @default 10 */
  readonly concurrency?: number | undefined
  /** After so many failed attempts an entry becomes a dead letter. @default 100, which takes about 66 hours */
  readonly maxAttempts?: number | undefined
  /** The delay before the second attempt of an entry, in milliseconds; it doubles each time. @default 1_000 */
  readonly retryDelayMs?: number | undefined
  /** The longest delay between attempts of an entry, in milliseconds. @default 3_600_000 (1 hour) */
  readonly maxRetryDelayMs?: number | undefined
  /**
   * How often to look in the inbox for callbacks that another process has stored, in milliseconds. Retries of this process begin
   * when they are due, whatever this value is.
   * @default 1_000
   */
  readonly pollMs?: number | undefined
}

export const EMPTYING_OPTIONS = [
  'concurrency',
  'maxAttempts',
  'retryDelayMs',
  'maxRetryDelayMs',
  'pollMs',
] as const satisfies readonly (keyof EmptyingOptions)[]

/** Options of `createWorker`. */
export interface WorkerOptions<Events extends object = EventMap>
  extends HandlingOptions<Events>, EmptyingOptions {
  /**
   * Where a receiver stores callbacks, in this process or in another one. The worker opens it, and closes it unless a receiver or
   * another worker has opened the same object.
   */
  readonly inbox: Inbox
  /** How long a schema may take, in milliseconds, before the attempt has failed. @default 5_000 */
  readonly dependencyTimeoutMs?: number | undefined
  /** The current time in milliseconds since 1970. @default Date.now */
  readonly clock?: (() => number) | undefined
}

export const WORKER_OPTIONS = [
  'inbox',
  ...HANDLING_OPTIONS,
  ...EMPTYING_OPTIONS,
  'dependencyTimeoutMs',
  'clock',
] as const satisfies readonly (keyof WorkerOptions)[]
void (true satisfies HasAll<keyof WorkerOptions, typeof WORKER_OPTIONS>)

/** `EmptyingOptions`, checked and with defaults. */
export type EmptyingSettings = Readonly<ReturnType<typeof parseEmptyingOptions>>

/** @throws CountersignError ERR_OPTION_INVALID */
export function parseEmptyingOptions(owner: string, options: EmptyingOptions) {
  const { concurrency, maxAttempts } = options
  return {
    concurrency: integerOption(owner, 'concurrency', concurrency, { fallback: 10, min: 1, max: 10_000 }),
    maxAttempts: integerOption(owner, 'maxAttempts', maxAttempts, { fallback: 100, min: 1 }),
    retryDelayMs: durationOption(owner, 'retryDelayMs', options.retryDelayMs, 1_000),
    maxRetryDelayMs: durationOption(owner, 'maxRetryDelayMs', options.maxRetryDelayMs, 3_600_000),
    pollMs: durationOption(owner, 'pollMs', options.pollMs, 1_000),
  }
}

/** `WorkerOptions`, checked and with defaults. */
export type WorkerSettings = Readonly<ReturnType<typeof parseWorkerOptions>>

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseWorkerOptions<Events extends object>(
  options: WorkerOptions<Events>,
  secrets: KnownSecrets,
) {
  const owner = 'createWorker'
  checkKnownOptions(owner, options, WORKER_OPTIONS)
  const handling = parseHandlingOptions(owner, options, secrets)
  return {
    inbox: inboxOption(owner, options.inbox),
    ...handling,
    ...parseEmptyingOptions(owner, options),
    dependencyTimeoutMs: dependencyTimeoutOption(owner, options.dependencyTimeoutMs),
    clock: clockOption(owner, options.clock, handling.environment.now),
  }
}
