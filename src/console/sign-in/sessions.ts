import { randomSecret } from '../form-token.js'
import type { Operator } from '../operator.js'

interface Session {
  readonly operator: Operator
  readonly endsAt: number
  idleFrom: number
}

/** How long a session lasts at most. */
export const SESSION_MS = 12 * 3_600_000
/** A session ends if the operator opens no page for this time. The polling of an open page does not count. */
const IDLE_MS = 3_600_000
/** Per user, so that nobody can end the sessions of another user by signing in again and again. */
const MAX_SESSIONS = 50

/** The sessions of signed-in users. They are in the memory of this process, so a restart ends all of them. */
export class Sessions {
  /** By the secret in the cookie of the browser. In the order in which the sessions began. */
  readonly #sessions = new Map<string, Session>()
  readonly #now: () => number

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Begins a session and returns its secret. */
  begin(operator: Operator): string {
    const now = this.#now()
    this.#makeRoomFor(operator, now)
    const secret = randomSecret()
    this.#sessions.set(secret, { operator, endsAt: now + SESSION_MS, idleFrom: now + IDLE_MS })
    return secret
  }

  /** The user of a session, or undefined if it has ended. With `isActivity` the idle time starts again. */
  find(secret: string, isActivity: boolean): Operator | undefined {
    const session = this.#sessions.get(secret)
    if (!session) return undefined
    const now = this.#now()
    if (hasEnded(session, now)) {
      this.#sessions.delete(secret)
      return undefined
    }
    if (isActivity) session.idleFrom = now + IDLE_MS
    return session.operator
  }

  end(secret: string): void {
    this.#sessions.delete(secret)
  }

  /** Removes the sessions of the user that have ended, and the oldest one if there are still too many. */
  #makeRoomFor({ name }: Operator, now: number): void {
    const own = [...this.#sessions].filter(([, { operator }]) => operator.name === name)
    const running = own.filter(([, session]) => !hasEnded(session, now))
    const kept = new Set(running.slice(-(MAX_SESSIONS - 1)))
    for (const one of own) if (!kept.has(one)) this.#sessions.delete(one[0])
  }
}

function hasEnded({ endsAt, idleFrom }: Session, now: number): boolean {
  return now >= endsAt || now >= idleFrom
}
