import { ClientError } from './client-error.js'

interface Followers {
  readonly controllers: Set<AbortController>
  readonly abort: () => void
}

/** The calls in progress. Each is aborted with its own signal, and all of them with the client. */
export class Calls {
  readonly #running = new Set<AbortController>()
  readonly #followers = new Map<AbortSignal, Followers>()
  #closed = false

  /** @throws ClientError ERR_CLOSED; the signal's reason */
  async run<Result>(
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (this.#closed) throw closed()
    signal?.throwIfAborted()
    const controller = new AbortController()
    this.#running.add(controller)
    if (signal) this.#follow(signal).controllers.add(controller)
    try {
      return await call(controller.signal)
    } finally {
      this.#running.delete(controller)
      if (signal) this.#leave(signal, controller)
    }
  }

  close(): void {
    this.#closed = true
    for (const controller of this.#running) controller.abort(closed())
  }

  // One listener for all calls that share a signal: Node warns of a leak above ten listeners.
  #follow(signal: AbortSignal): Followers {
    const known = this.#followers.get(signal)
    if (known) return known
    const controllers = new Set<AbortController>()
    const abort = () => controllers.forEach((controller) => controller.abort(signal.reason))
    const followers = { controllers, abort }
    this.#followers.set(signal, followers)
    signal.addEventListener('abort', abort)
    return followers
  }

  #leave(signal: AbortSignal, controller: AbortController): void {
    const { controllers, abort } = this.#followers.get(signal)!
    controllers.delete(controller)
    if (controllers.size > 0) return
    this.#followers.delete(signal)
    signal.removeEventListener('abort', abort)
  }
}

function closed(): ClientError {
  const message = 'The client has been closed, which ended its calls. Create a new one with createClient.'
  return new ClientError('ERR_CLOSED', message)
}
