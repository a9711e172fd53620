import { randomSecret } from '../form-token.js'
import type { Operator } from '../operator.js'

interface Session {
  readonly operator: Operator
  readonly endsAt: number
  idleFrom: number
}

/** A working day. */
export const SESSION_MS = 12 * 3_600_000
/** Without a page that the operator opened. What an open page polls by itself does not count. */
const IDLE_MS = 3_600_000
const MAX_SESSIONS = 1_000

/** Who is signed in, in the memory of this process: a restart ends all sessions. */
export class Sessions {
  /** By its secret, which only the cookie of the browser has. The one that began first is the first. */
  readonly #sessions = new Map<string, Session>()
  readonly #now: () => number

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Resolves to the secret of a new session. */
  begin(operator: Operator): string {
    const now = this.#now()
    if (this.#sessions.size >= MAX_SESSIONS) this.#removeOne(now)
    const secret = randomSecret()
    this.#sessions.set(secret, { operator, endsAt: now + SESSION_MS, idleFrom: now + IDLE_MS })
    return secret
  }

  /** Who has this session. `isActivity` keeps it from ending by itself. */
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

  /** One that has ended, or the oldest. */
  #removeOne(now: number): void {
    let removed = this.#sessions.keys().next().value
    for (const [secret, session] of this.#sessions) {
      if (!hasEnded(session, now)) continue
      removed = secret
      break
    }
    if (removed !== undefined) this.#sessions.delete(removed)
  }
}

function hasEnded({ endsAt, idleFrom }: Session, now: number): boolean {
  return now >= endsAt || now >= idleFrom
}
