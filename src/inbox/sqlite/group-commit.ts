import { accessSync } from 'node:fs'
import { join } from 'node:path'
import { delay, SYSTEM, type Environment } from '../../base/environment.js'
import { commitChannel, type CommitMeasurement } from '../../base/measurements.js'
import { nextTick } from '../../base/next-tick.js'
import type { Logger } from '../../logging/logger.js'
import type { AddResult } from '../engine.js'
import { CommitQueue, type Waiting, type WaitingArrival, type WaitingWrite } from './commit-queue.js'
import type { SqliteDriver } from './driver.js'
import { inboxError, isBusy } from './inbox-error.js'
import type { ArrivalToStore, ReadArguments, Reads, Write, Writes } from './operations.js'
import { closedError, Store, type StoreHost, type Written } from './store.js'
import { StoreThread } from './store-thread.js'

interface GroupCommitOptions {
  readonly file: string
  /** How long a write is tried again while another process has the file locked, in milliseconds. */
  readonly busyTimeoutMs: number
  /** The time of the inbox. */
  readonly clock: () => number
  readonly logger: Logger
  readonly environment: Environment
  readonly mayHaveThread: boolean
  /** The driver of a store without a thread, if it is not the usual one. */
  readonly driver: SqliteDriver | undefined
}

/**
 * Collects writes for common transactions, so that they share one message to the thread that has the file, and one sync of the disk.
 * While a transaction runs, those of the next one are collected.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  readonly #queue: CommitQueue
  #host: StoreHost | undefined
  #committing: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#queue = new CommitQueue(options.environment.monotonic)
  }

  async open(): Promise<void> {
    await this.#opened().open()
  }

  /** Resolves once the callback is durable, or known. If it rejects, it was not stored, unless the disk failed. */
  add(arrival: ArrivalToStore): Promise<AddResult> {
    return this.#added((waiting) => ({ ...waiting, arrival, entries: 1 })) as Promise<AddResult>
  }

  /** Resolves once the changes are durable. If it rejects, nothing was changed, unless the disk failed. */
  write<Name extends keyof Writes>(
    write: (now: number) => Extract<Write, readonly [Name, ...unknown[]]>,
    entries = 1,
  ): Promise<ReturnType<Writes[Name]>> {
    return this.#added((waiting) => ({ ...waiting, write, entries })) as Promise<ReturnType<Writes[Name]>>
  }

  /** Sees what has been committed. */
  async read<Name extends keyof Reads>(
    name: Name,
    ...given: ReadArguments<Name>
  ): Promise<Awaited<ReturnType<Reads[Name]>>> {
    return await this.#opened().read(name, ...given)
  }

  /** Carries out the writes that wait, and closes the file. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    while (this.#committing) await this.#committing
    await this.#host?.close()
  }

  #opened(): StoreHost {
    if (this.#closed) throw closedError(this.#options.file)
    return (this.#host ??= hostOf(this.#options))
  }

  #added(
    waitingOf: (common: Pick<Waiting, 'addedAt' | 'giveUpAt' | 'resolve' | 'reject'>) => Waiting,
  ): Promise<unknown> {
    if (this.#closed) return Promise.reject(closedError(this.#options.file))
    return new Promise((resolve, reject) => {
      const addedAt = this.#options.environment.monotonic()
      const giveUpAt = addedAt + this.#options.busyTimeoutMs
      this.#queue.add(waitingOf({ addedAt, giveUpAt, resolve, reject }))
      this.#commitNext()
    })
  }

  /** To be called when a write was added, and when a transaction has ended. */
  #commitNext(): void {
    if (this.#committing || this.#queue.isEmpty) return
    this.#committing = this.#commit().finally(() => {
      this.#committing = undefined
      this.#commitNext()
    })
  }

  async #commit(): Promise<void> {
    const { environment, clock } = this.#options
    await nextTick(environment)
    const taken = this.#queue.take()
    const all: readonly Waiting[] = [...taken.arrivals, ...taken.writes]
    const startedAt = environment.monotonic()
    try {
      const now = clock()
      const { added, written } = await this.#hostForWrites().write({
        now,
        arrivals: taken.arrivals.map(({ arrival }) => arrival),
        writes: taken.writes.map(({ write }) => write(now)),
      })
      if (commitChannel.hasSubscribers) {
        const durationMs = environment.monotonic() - startedAt
        commitChannel.publish({ size: all.length, durationMs } satisfies CommitMeasurement)
      }
      const arrivals = taken.arrivals.filter((waiting, index) => this.#isBusy(waiting, added[index]!))
      const writes = taken.writes.filter((waiting, index) => this.#isBusy(waiting, written[index]!))
      if (arrivals.length + writes.length === 0) return
      this.#queue.putBack({ arrivals, writes })
    } catch (error) {
      const reason = inboxError(error, this.#options.file)
      for (const { reject } of all) reject(reason)
      return
    }
    // With jitter. Without it, two processes that wait for each other would collide again each time.
    await delay(environment, 5 + environment.random() * 20)
  }

  /** The file is closed only after the writes that wait. */
  #hostForWrites(): StoreHost {
    return (this.#host ??= hostOf(this.#options))
  }

  /** Reports what became of a write. Returns whether it is to be tried again, as another process has the file locked. */
  #isBusy(waiting: WaitingArrival | WaitingWrite, written: Written): boolean {
    if ('result' in written) waiting.resolve(written.result)
    else if (isBusy(written.error) && this.#options.environment.monotonic() < waiting.giveUpAt) return true
    else waiting.reject(written.error)
    return false
  }
}

/** A thread, or this process where there can be none. */
function hostOf(options: GroupCommitOptions): StoreHost {
  const { file, busyTimeoutMs, logger, environment, mayHaveThread, driver } = options
  const settings = { file, busyTimeoutMs }
  // Not in the simulation, whose time is not that of a thread, and not where the sources are run by a test.
  if (mayHaveThread && environment === SYSTEM && !__filename.endsWith('.ts')) {
    const program = join(__dirname, 'thread.js')
    try {
      // Otherwise the thread would fail later.
      accessSync(program)
      return new StoreThread(program, settings, logger)
    } catch (error) {
      const message =
        'the inbox has no thread of its own, so the event loop waits for its disk: allow threads (--allow-worker), and leave ' +
        'countersign out of a bundle'
      logger.warn({ code: 'WARN_INBOX_WITHOUT_THREAD', file, err: error }, message)
    }
  }
  return new Store(settings, logger, environment, driver)
}
