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

/** How many secrets are remembered of those that a function returned, unless one list holds more. */
const MAX_REMEMBERED = 10_000

/** The secrets of the subscriptions, which must not stand in a log line or in a stored reason. */
export class KnownSecrets {
  readonly #listed = new Set<string>()
  /** In the order of their last use, because a function may return other subscriptions for each tenant. */
  readonly #returned = new Set<string>()
  #spellings: Spellings | undefined
  /** How many of the spellings' secrets have been forgotten since. */
  #forgotten = 0

  /** Remembers the secrets of a list for good. */
  add(subscriptions: unknown): void {
    for (const secret of secretsOf(subscriptions)) {
      this.#listed.add(secret)
      this.#spellings?.add(secret)
    }
  }

  /** Remembers the secrets of a list that a function returned, and forgets those that were returned longest ago. */
  addReturned(subscriptions: unknown): void {
    const secrets = secretsOf(subscriptions)
    for (const secret of secrets) {
      if (!this.#returned.delete(secret)) this.#spellings?.add(secret)
      this.#returned.add(secret)
    }
    const limit = Math.max(MAX_REMEMBERED, secrets.length)
    for (const secret of this.#returned) {
      if (this.#returned.size <= limit) break
      this.#returned.delete(secret)
      this.#forgotten++
    }
    // Preparing the spellings costs time for each secret that is known: once in so many secrets, not for each new one.
    if (this.#forgotten < MAX_REMEMBERED) return
    this.#spellings = undefined
    this.#forgotten = 0
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
  readonly #byStart = new Map<string, Set<string>>()
  readonly #firstUnits = new Set<number>()
  #longest = 0

  constructor(secrets: readonly string[]) {
    for (const secret of secrets) this.add(secret)
  }

  add(secret: string): void {
    for (const spelling of spellingsOf(secret)) {
      if (spelling.length < MIN_LENGTH) continue
      const start = spelling.slice(0, MIN_LENGTH)
      const known = this.#byStart.get(start)
      if (known) known.add(spelling)
      else this.#byStart.set(start, new Set([spelling]))
      this.#firstUnits.add(spelling.charCodeAt(0))
      this.#longest = Math.max(this.#longest, spelling.length)
    }
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
    let longest = 0
    // One spelling may begin with another.
    for (const candidate of this.#byStart.get(text.slice(at, at + MIN_LENGTH)) ?? []) {
      if (candidate.length > longest && text.startsWith(candidate, at)) longest = candidate.length
    }
    return longest
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
