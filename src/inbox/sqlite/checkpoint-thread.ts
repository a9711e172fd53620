import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { COPY_LOG, type LogFiles } from './copy-log.js'
import { BUILT_IN, type SqliteDriver } from './driver.js'

/** A thread that copies the log of a file into its database when it is asked to. */
export class CheckpointThread {
  readonly #worker: Worker
  #pending: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined
  #hasEnded = false

  /** Throws if the process may have no threads, or the driver cannot be found, as in some bundles. */
  constructor({ name }: SqliteDriver, files: LogFiles) {
    const driver = name === BUILT_IN ? name : createRequire(__filename).resolve(name)
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { driver, files },
      // What the user gave to the process, such as a hook that is loaded first, is not for this thread.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
    })
    this.#worker.unref()
    this.#worker.on('message', (failure: Failure | undefined) =>
      this.#end(failure && Object.assign(new Error(failure.message), failure)),
    )
    const ended = (error = new Error('the thread has ended')) => {
      this.#hasEnded = true
      this.#end(error)
    }
    this.#worker.on('error', ended)
    this.#worker.on('exit', () => ended())
  }

  /** Whether it will do nothing more. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Rejects as `copyLog` throws, or if the thread fails. */
  run(): Promise<void> {
    // The process must not end while commits wait for this.
    this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#worker.postMessage(undefined, [])
    })
  }

  /** To be called while it does not run. */
  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #end(failure: Error | undefined): void {
    const pending = this.#pending
    this.#pending = undefined
    this.#worker.unref()
    if (failure) pending?.reject(failure)
    else pending?.resolve()
  }
}

interface Failure {
  readonly message: string
  readonly errcode?: number
  readonly code?: string
  readonly syscall?: string
}

// The connections are open only during a checkpoint: a file that was replaced must not be kept open. The thread says nothing of its own,
// such as that the SQLite of Node 22 is experimental.
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads')
  const fs = require('node:fs')
  process.emitWarning = () => {}
  const driver = require(workerData.driver)
  const copyLog = ${COPY_LOG}
  parentPort.on('message', () => {
    let failure
    try {
      copyLog(driver, fs, workerData.files)
    } catch ({ message, errcode, code, syscall }) {
      failure = { message, errcode, code, syscall }
    }
    parentPort.postMessage(failure)
  })
`
