import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { BUILT_IN, type SqliteDriver } from './driver.js'
import { ownLocation } from './own-location.js'

/** A thread that copies the log of a file into its database when it is asked to. */
export class CheckpointThread {
  readonly #worker: Worker
  #pending: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined
  #hasEnded = false

  /** Throws if the process may have no threads, or the driver cannot be found, as in some bundles. */
  constructor({ name }: SqliteDriver, file: string) {
    const driver = name === BUILT_IN ? name : createRequire(ownLocation()).resolve(name)
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      // Without `mode=rw` it would create a file if the file was deleted.
      workerData: { driver, file: `${pathToFileURL(file).href}?mode=rw` },
      // What the user gave to the process, such as a hook that is loaded first, is not for this thread.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
    })
    this.#worker.unref()
    this.#worker.on('message', (failure: string | undefined) => this.#end(failure))
    this.#worker.on('error', ({ message }: Error) => this.#end(message))
    this.#worker.on('exit', () => {
      this.#hasEnded = true
      this.#end('the thread has ended')
    })
  }

  /** Whether it will do nothing more. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Copies what the log holds now, as far as no reader needs it. Then `RESTART` lets the log begin anew, for which other
   * processes must not write meanwhile; it gives up soon if another program reads. Rejects if SQLite or the thread fails.
   */
  run(mode: 'PASSIVE' | 'RESTART'): Promise<void> {
    if (this.#hasEnded) return Promise.reject(new Error('the thread has ended'))
    // The process must not end while a commit waits for this.
    this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#worker.postMessage(mode, [])
    })
  }

  /** To be called while it does not run. */
  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #end(failure: string | undefined): void {
    const pending = this.#pending
    this.#pending = undefined
    this.#worker.unref()
    if (failure === undefined) pending?.resolve()
    else pending?.reject(new Error(failure))
  }
}

// The connection is open only during a checkpoint: a file that was replaced must not be kept open. Reading the version comes
// first, because a connection that has read nothing does not know that there is a log. `exec` leaves no statement behind, which
// would keep a database of @photostructure/sqlite open.
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { DatabaseSync } = require(workerData.driver)
  parentPort.on('message', (mode) => {
    let failure
    try {
      const database = new DatabaseSync(workerData.file)
      try {
        database.exec('PRAGMA busy_timeout = 20; PRAGMA synchronous = FULL; PRAGMA checkpoint_fullfsync = ON')
        database.exec('PRAGMA user_version; PRAGMA wal_checkpoint(' + mode + ')')
      } finally {
        database.close()
      }
    } catch (error) {
      failure = String(error)
    }
    parentPort.postMessage(failure)
  })
`
