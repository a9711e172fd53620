// Sends callbacks over keep-alive connections, several in flight: new ones, exact repeats, and repeats that were signed anew.
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { signedCallback } from 'countersign/testing'

const IN_FLIGHT = 8

export class Load {
  /** The idempotency keys of the callbacks that were answered 200. */
  acknowledged = new Set()
  sent = 0
  #callbacks = []
  #subscription

  constructor(subscription) {
    this.#subscription = subscription
  }

  /** Sends to these ports by turns until `ended` resolves. */
  async drive(ports, ended) {
    if (ports.length === 0) return
    const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
    const over = new AbortController()
    void ended.then(() => over.abort())
    const sender = async (_, index) => {
      for (let turn = index; !over.signal.aborted; turn++) {
        const { key, callback } = this.#next()
        this.sent++
        const status = await post(agent, ports[turn % ports.length], callback)
        if (status === 200) this.acknowledged.add(key)
        // The database is out of reach, or the process had no processor time until the body was late: a sender waits for a while.
        else if (status === 503 || status === 408) await delay(20)
        else if (status !== undefined) throw new Error(`a genuine callback was answered ${status}`)
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, sender))
    agent.destroy()
  }

  #next() {
    const dice = Math.random()
    const earlier = this.#callbacks[Math.floor(Math.random() * this.#callbacks.length)]
    if (earlier && dice < 0.1) return earlier
    const { key, payload } =
      earlier && dice < 0.15 ? earlier : { key: randomUUID(), payload: { Id: randomUUID() } }
    const made = {
      key,
      payload,
      callback: signedCallback({ subscription: this.#subscription, idempotencyKey: key, payload }),
    }
    this.#callbacks.push(made)
    return made
  }
}

/** The status, or undefined when the connection broke before there was one. */
function post(agent, port, { path, headers, body }) {
  return new Promise((resolve) => {
    const sending = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, (response) => {
      response.resume().on('error', () => {})
      // The head of the answer is the acknowledgement: a sender acts on it.
      resolve(response.statusCode)
    })
    sending.on('error', () => resolve(undefined))
    sending.end(body)
  })
}
