import { Worker } from 'node:worker_threads'
import { CountersignError } from '../../base/errors.js'
import type { Logger } from '../../logging/logger.js'
import type { ReadArguments, Reads, Write } from './operations.js'
import type { Batch, StoreHost, StoreSettings, Written, WrittenBatch } from './store.js'
import {
  errorOf,
  packArrivals,
  unpackAdded,
  type Failure,
  type PackedAdded,
  type PackedArrivals,
} from './thread-messages.js'

/** What the thread is asked. */
export type Asked = { readonly number: number } & (
  | {
      readonly what: 'write'
      readonly now: number
      readonly arrivals: PackedArrivals
      readonly writes: readonly Write[]
    }
  | { readonly what: 'read'; readonly read: ReadCall }
  | { readonly what: 'open' | 'close' }
)

export type ReadCall = { [Name in keyof Reads]: [name: Name, ...ReadArguments<Name>] }[keyof Reads]

/** What the thread says. */
export type Told =
  | { readonly number: number; readonly result: unknown }
  | { readonly number: number; readonly failure: Failure }
  | { readonly line: Line }

export interface Line {
  readonly level: keyof Logger
  readonly fields: object
  readonly failure: Failure | undefined
  readonly message: string
}

/** A store in a thread of its own, so that the event loop of this process never waits for the disk. */
export class StoreThread implements StoreHost {
  readonly #program: string
  readonly #settings: StoreSettings
  readonly #logger: Logger
  #worker: Worker | undefined
  #number = 0
  readonly #asked = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()

  /** `program`: the file of the thread. Throws if the process may have no threads. */
  constructor(program: string, settings: StoreSettings, logger: Logger) {
    this.#program = program
    this.#settings = settings
    this.#logger = logger
    this.#worker = this.#started()
  }

  async write({ now, arrivals, writes }: Batch): Promise<WrittenBatch> {
    const packed = packArrivals(arrivals)
    const asked = { what: 'write', now, arrivals: packed, writes } as const
    const { added, written } = (await this.#ask(asked, [packed.bodies.buffer])) as {
      readonly added: PackedAdded
      readonly written: readonly (Written | { readonly failure: Failure })[]
    }
    return {
      added: unpackAdded(added),
      written: written.map((each) => ('failure' in each ? { error: errorOf(each.failure) } : each)),
    }
  }

  async read<Name extends keyof Reads>(
    name: Name,
    ...given: ReadArguments<Name>
  ): Promise<Awaited<ReturnType<Reads[Name]>>> {
    const read = [name, ...given] as unknown as ReadCall
    return (await this.#ask({ what: 'read', read })) as Awaited<ReturnType<Reads[Name]>>
  }

  async open(): Promise<void> {
    await this.#ask({ what: 'open' })
  }

  async close(): Promise<void> {
    await this.#ask({ what: 'close' })
    await this.#worker?.terminate()
  }

  #ask(asked: WithoutNumber<Asked>, transferred: readonly ArrayBuffer[] = []): Promise<unknown> {
    const worker = (this.#worker ??= this.#started())
    const number = ++this.#number
    // The process must not end while somebody waits for this.
    if (this.#asked.size === 0) worker.ref()
    return new Promise((resolve, reject) => {
      this.#asked.set(number, { resolve, reject })
      worker.postMessage({ number, ...asked }, transferred)
    })
  }

  #started(): Worker {
    const worker = new Worker(this.#program, {
      workerData: this.#settings,
      // What the user gave to the process, such as a hook that is loaded first, is not for this thread.
      execArgv: [],
      env: {},
    })
    worker.unref()
    worker.on('message', (told: Told) => this.#told(worker, told))
    worker.on('error', (error) => this.#ended(worker, error))
    worker.on('exit', () => this.#ended(worker))
    return worker
  }

  #told(worker: Worker, told: Told): void {
    if ('line' in told) return this.#log(told.line)
    const waiting = this.#asked.get(told.number)
    this.#asked.delete(told.number)
    if (this.#asked.size === 0) worker.unref()
    if ('failure' in told) waiting?.reject(errorOf(told.failure))
    else waiting?.resolve(told.result)
  }

  #log({ level, fields, failure, message }: Line): void {
    this.#logger[level](failure ? { ...fields, err: errorOf(failure) } : fields, message)
  }

  /** What was asked may have taken place or not. The next call starts another thread. */
  #ended(worker: Worker, cause?: Error): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const message = `${this.#settings.file}: the thread that has it open has ended. It is started again`
    for (const { reject } of this.#asked.values())
      reject(new CountersignError('ERR_INBOX_IO', message, { cause }))
    this.#asked.clear()
  }
}

type WithoutNumber<Message> = Message extends unknown ? Omit<Message, 'number'> : never
