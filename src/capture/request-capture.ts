import { nextTick } from '../base/next-tick.js'
import { settledWithin } from '../base/timeout.js'
import type { AnsweredRequest } from '../events/publish-answer.js'
import { LogThrottle } from '../logging/log-throttle.js'
import type { Logger } from '../logging/logger.js'
import { captureWriter, type WriteCapture } from './capture-folder.js'
import type { CaptureSettings } from './capture-options.js'
import { capturedFiles, type CapturedRequest } from './captured-request.js'

/** What waits for a slow disk. Further requests are not captured. */
const MAX_WAITING = 100
const MAX_WAITING_BYTES = 4_194_304
const FAILED = 'WARN_CAPTURE_FAILED'
/** A disk may be full for days, and each request would be a line. */
const FAILURES_WINDOW_MS = 60_000

interface Waiting {
  readonly request: CapturedRequest
  readonly receivedAt: Date
}

/** Writes requests to a folder after they were answered, one after the other. */
export class RequestCapture {
  readonly #settings: CaptureSettings
  readonly #write: WriteCapture
  readonly #clock: () => number
  readonly #logger: Logger
  readonly #perCode: LogThrottle
  readonly #failures: LogThrottle
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #writing: Promise<void> | undefined

  constructor(settings: CaptureSettings, { logger, clock }: { logger: Logger; clock: () => number }) {
    this.#settings = settings
    this.#write = captureWriter(settings)
    this.#clock = clock
    this.#logger = logger
    // Further requests are not captured. The log counts them already.
    this.#perCode = new LogThrottle(settings.perSecond, () => {})
    const report = (message: string, suppressed: number, overMs: number) =>
      logger.warn({ code: FAILED, suppressed, overMs }, `${message}: ${suppressed} more in ${overMs} ms`)
    this.#failures = new LogThrottle(1, report, FAILURES_WINDOW_MS)
  }

  /** Captures a request that has been answered, unless a bound is reached. Returns immediately. */
  take({ request, outcome, durationMs }: AnsweredRequest): void {
    const { method, path, headers, rawHeaders, body } = request
    if (this.#settings.what === 'refused' && outcome.name !== 'refused') return
    // Anybody can send unverified requests. Each costs several calls of the file system.
    if (!outcome.callback && !this.#perCode.admits(outcome.code)) return
    const bytes = body?.length ?? 0
    const isFull =
      this.#waiting.length >= MAX_WAITING ||
      (this.#waiting.length > 0 && this.#waitingBytes + bytes > MAX_WAITING_BYTES)
    if (isFull) return this.#warn('the disk is too slow: a request was not captured')
    // A copy: the application may own the buffer, and handlers may change it.
    const kept = { method, path, headers, rawHeaders, body: body && Buffer.from(body), outcome }
    this.#waiting.push({ request: kept, receivedAt: this.#timeOf(durationMs) })
    this.#waitingBytes += bytes
    this.#writing ??= this.#writeAll()
  }

  /** Resolves once everything is written, or after `limitMs`. */
  async end(limitMs: number): Promise<void> {
    await settledWithin(this.#writing, limitMs)
    this.#failures.flush()
    this.#perCode.flush()
  }

  #timeOf(durationMs: number): Date {
    try {
      return new Date(this.#clock() - durationMs)
    } catch {
      // A clock of the application that throws has already made the callback fail.
      return new Date()
    }
  }

  async #writeAll(): Promise<void> {
    for (let next; (next = this.#waiting.shift());) {
      // The answers of the other callbacks go first.
      await nextTick()
      const { request, receivedAt } = next
      this.#waitingBytes -= request.body?.length ?? 0
      try {
        const files = capturedFiles(request, receivedAt, this.#settings)
        await this.#write(files, receivedAt, request.outcome.code)
      } catch (error) {
        this.#warn('a request was not captured', error)
      }
    }
    this.#writing = undefined
  }

  #warn(message: string, error?: unknown): void {
    if (!this.#failures.admits(message)) return
    this.#logger.warn({ code: FAILED, ...(error !== undefined && { err: error }) }, message)
  }
}
