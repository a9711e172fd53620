// The receivers and workers that live beside the process that is killed.
import { startProcess } from './crash-process.mjs'

export class Fleet {
  #given
  #processes = []

  constructor(given) {
    this.#given = given
  }

  /** The ports of its receivers. */
  get ports() {
    return this.#processes.flatMap(({ port }) => port ?? [])
  }

  /** Starts what is missing and stops what is too many. */
  async become({ receiver, worker }) {
    await Promise.all([this.#have('receiver', receiver), this.#have('worker', worker)])
  }

  /** Ends what a failed run has left. */
  kill() {
    for (const each of this.#processes) each.signal('SIGKILL')
  }

  async #have(role, count) {
    const present = this.#processes.filter((each) => each.role === role)
    const surplus = present.slice(count)
    this.#processes = this.#processes.filter((each) => !surplus.includes(each))
    await Promise.all(surplus.map((each) => each.stop()))
    for (let missing = count - present.length; missing > 0; missing--)
      this.#processes.push(await startProcess(role, this.#given))
  }
}
