import { property } from '../base/foreign-value.js'

const SCHEMES = String.raw`(?<=HMAC-SHA256 Signature=|\b[Bb]earer |\bBasic )`

/** A token in the middle of a sentence, as HTTP clients put it into their messages. */
export const CREDENTIALS = String.raw`${SCHEMES}[\w.~+/-]{8,}=*`
const credentials = new RegExp(CREDENTIALS, 'g')
/** Where the text was cut, the last token may be shorter. */
const credentialsOrStart = new RegExp(String.raw`${CREDENTIALS}|${SCHEMES}[\w.~+/-]+$`, 'g')

const HIDDEN = '[hidden]'

/** To hide a shorter text would hide parts of ordinary words, and show by that what the secret is. */
const MIN_LENGTH = 4

/** How many secrets are remembered of those that a function returned. */
const MAX_REMEMBERED = 1_000

/** The secrets of the subscriptions, which must not stand in a log line or in a stored reason. */
export class KnownSecrets {
  readonly #listed = new Set<string>()
  /** In the order of their last use: the function may return other subscriptions for each tenant. */
  readonly #returned = new Set<string>()
  #spellings: Spellings | undefined

  /** Remembers the secrets of a list, or of whatever lists the function returns, which is then returned in its place. */
  of<Subscriptions>(subscriptions: Subscriptions): Subscriptions {
    if (typeof subscriptions !== 'function') {
      for (const secret of secretsOf(subscriptions)) this.#listed.add(secret)
      return subscriptions
    }
    const remembering = (hints: unknown): unknown => {
      const found: unknown = subscriptions(hints)
      if (Array.isArray(found)) {
        this.#remember(found)
        return found
      }
      // The caller is given this promise too: the `then` of a query builder would run its query once for each call.
      const promise = Promise.resolve(found)
      promise.then(
        (list) => this.#remember(list),
        () => {},
      )
      return promise
    }
    return remembering as Subscriptions
  }

  /**
   * The first `limit` characters of a text without the secrets. A secret that begins before the limit is hidden whole: cut
   * first, the text could end with a part of it.
   */
  hide(text: string, limit = Infinity): string {
    this.#spellings ??= new Spellings([...this.#listed, ...this.#returned])
    const tokens = text.length > limit ? credentialsOrStart : credentials
    return this.#spellings.hide(text, limit).replace(tokens, HIDDEN)
  }

  #remember(subscriptions: unknown): void {
    for (const secret of secretsOf(subscriptions)) {
      if (!this.#returned.delete(secret)) this.#spellings = undefined
      this.#returned.add(secret)
    }
    for (const secret of this.#returned) {
      if (this.#returned.size <= MAX_REMEMBERED) return
      this.#returned.delete(secret)
    }
  }
}

/** Unchecked so far: whatever is no list of subscriptions is refused later, with a message of its own. */
function secretsOf(subscriptions: unknown): string[] {
  try {
    return (subscriptions as unknown[])
      .flatMap((subscription) => property(subscription, 'secret'))
      .filter((secret) => typeof secret === 'string')
  } catch {
    return []
  }
}

/** Finds many texts in time that depends on the length of the text alone, not on how many there are. */
class Spellings {
  readonly #byStart = new Map<string, string[]>()
  readonly #firstUnits = new Set<number>()
  #longest = 0

  constructor(secrets: readonly string[]) {
    for (const spelling of new Set(secrets.flatMap(spellingsOf))) {
      if (spelling.length < MIN_LENGTH) continue
      const start = spelling.slice(0, MIN_LENGTH)
      const known = this.#byStart.get(start)
      if (known) known.push(spelling)
      else this.#byStart.set(start, [spelling])
      this.#firstUnits.add(spelling.charCodeAt(0))
      this.#longest = Math.max(this.#longest, spelling.length)
    }
    // One may begin with another.
    for (const spellings of this.#byStart.values()) spellings.sort((one, other) => other.length - one.length)
  }

  hide(whole: string, limit: number): string {
    const end = Math.min(limit, whole.length)
    // An error's message may be of any length, and only this much of it is looked at.
    const text = whole.slice(0, end + this.#longest)
    let hidden = ''
    let from = 0
    for (let at = 0; at < end;) {
      const length = this.#lengthAt(text, at)
      if (length > 0) {
        hidden += text.slice(from, at) + HIDDEN
        from = at + length
      }
      at += length || 1
    }
    return hidden + text.slice(from, Math.max(from, end))
  }

  #lengthAt(text: string, at: number): number {
    if (!this.#firstUnits.has(text.charCodeAt(at))) return 0
    const candidates = this.#byStart.get(text.slice(at, at + MIN_LENGTH))
    return candidates?.find((candidate) => text.startsWith(candidate, at))?.length ?? 0
  }
}

/** As it is, in JSON, as the `secretText` that is sent at subscription, and as forms and addresses encode it. */
function spellingsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64')
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(secret).toString('base64url'),
    new URLSearchParams({ secret }).toString().slice('secret='.length),
    // A lone half of a surrogate pair has no such form; such a secret is refused later.
    encodeURIComponent(secret.toWellFormed()),
  ]
}
