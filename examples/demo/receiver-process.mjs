// The receiver as its operator sees it: a process that can be killed and started again on the same inbox.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('receiver.mjs', import.meta.url))

export class ReceiverProcess {
  /** Of all processes, one after the other: how often each outcome came. */
  outcomes = new Map()
  killed = new Set()
  #env
  #child
  #port

  constructor(env) {
    this.#env = { ...process.env, ...env }
  }

  /** Where it listens, or did until it was killed. */
  get origin() {
    return `http://127.0.0.1:${this.#port}`
  }

  async start() {
    const child = fork(PROGRAM, { env: this.#env })
    this.#child = child
    this.#port = await new Promise((resolve, reject) => {
      child.on('message', ({ port, outcome }) => {
        if (port) resolve(port)
        else this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
      })
      child.once('exit', (code) => reject(new Error(`the receiver ended with exit code ${code}`)))
    })
  }

  async kill() {
    this.killed.add(this.#child.pid)
    await this.#end('SIGKILL')
  }

  async stop() {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await this.#end('SIGTERM')
  }

  async #end(signal) {
    const ended = once(this.#child, 'exit')
    this.#child.kill(signal)
    await ended
  }
}
