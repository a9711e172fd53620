// What SqliteInbox is held against: the limit of the disk, and what it would be without group commit.
import { fdatasyncSync, openSync, writeSync } from 'node:fs'
import { SqliteInbox } from 'countersign/sqlite'

const ENGINE = Symbol.for('countersign.engine')

/** What arrives in one turn of the event loop is written at the end of a file, and synced once. It knows no repeats. */
export class AppendOnlyInbox {
  retentionMs = Number.MAX_SAFE_INTEGER
  discardedRetentionMs = Number.MAX_SAFE_INTEGER
  #file
  #waiting = []
  #id = 0

  constructor(path) {
    this.#file = openSync(path, 'a')
  }

  get [ENGINE]() {
    return this
  }

  add({ callback, key }) {
    return new Promise((resolve) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#commit())
      this.#waiting.push({ line: `${key} ${callback.rawBody.toString('base64')}\n`, resolve })
    })
  }

  #commit() {
    const batch = this.#waiting.splice(0)
    writeSync(this.#file, batch.map(({ line }) => line).join(''))
    fdatasyncSync(this.#file)
    for (const { resolve } of batch) resolve({ result: 'stored', id: String(++this.#id) })
  }

  async open() {}
  async claim() {
    return { entries: [], interruptedIsDue: false }
  }
  async begin() {
    return new Set()
  }
  async extend() {
    return new Set()
  }
  async settle() {
    return new Set()
  }
  async prune() {
    return 0
  }
  async close() {}
}

/** An inbox that commits each callback alone. */
export function oneTransactionEach(options) {
  const inbox = new SqliteInbox(options)
  const engine = inbox[ENGINE]
  const add = engine.add.bind(engine)
  let last = Promise.resolve()
  engine.add = (arrival) => (last = last.then(() => add(arrival)))
  return inbox
}
