import { property } from '../base/foreign-value.js'
import { secretSpellings } from '../base/secret-spellings.js'

// A receiver accepts HMAC-SHA256 in any letter case (RFC 9110, section 11.1).
const SCHEMES = String.raw`(?<=[Hh][Mm][Aa][Cc]-[Ss][Hh][Aa]256 Signature=|\b[Bb]earer |\bBasic )`

/** A token in the middle of a sentence, as in the messages of HTTP clients. */
const CREDENTIALS = String.raw`${SCHEMES}[\w.~+/-]{8,}=*`
const credentials = new RegExp(CREDENTIALS, 'g')
/** If the text was truncated, the last token may be shorter. */
const credentialsOrStart = new RegExp(String.raw`${CREDENTIALS}|${SCHEMES}[\w.~+/-]+$`, 'g')

export const HIDDEN = '[hidden]'

/** A shorter secret would be replaced within ordinary words, which would reveal it. */
const MIN_LENGTH = 4

/** How many secrets that a function returned are remembered, unless one list has more. */
const MAX_REMEMBERED = 10_000

/**
 * The secrets of the subscriptions, which no log line and no stored reason may contain, in all their spellings and
 * letter cases. `textMask` finds more encodings, but its time depends on the number of secrets.
 */
export class KnownSecrets {
  readonly #listed = new Set<string>()
  /** In the order of their last use, because a function may return different subscriptions for each tenant. */
  readonly #returned = new Set<string>()
  #spellings: Spellings | undefined
  /** How many secrets of the spellings have been removed since they were built. */
  #forgotten = 0

  /** Remembers the secrets of a list permanently. */
  add(subscriptions: unknown): void {
    for (const secret of secretsOf(subscriptions)) {
      this.#listed.add(secret)
      this.#spellings?.add(secret)
    }
  }

  /** Remembers the secrets of a list that a function returned, and removes those that were returned longest ago. */
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
    // Building the spellings takes time for each known secret. Therefore it is done once per many new secrets, not
    // for each.
    if (this.#forgotten < MAX_REMEMBERED) return
    this.#spellings = undefined
    this.#forgotten = 0
  }

  /**
   * The first `limit` characters of a text without the secrets. Secrets are replaced before the text is truncated.
   * Otherwise the text could end with a part of a secret.
   */
  hide(text: string, limit = Infinity): string {
    this.#spellings ??= new Spellings([...this.#listed, ...this.#returned])
    const tokens = text.length > limit ? credentialsOrStart : credentials
    return this.#spellings.hide(text, limit).replace(tokens, HIDDEN)
  }
}

/** The subscriptions are not checked yet. Anything else than a list is refused later, with a message of its own. */
function secretsOf(subscriptions: unknown): string[] {
  try {
    return (subscriptions as unknown[])
      .flatMap((subscription) => property(subscription, 'secret'))
      .filter((secret) => typeof secret === 'string')
  } catch {
    return []
  }
}

/**
 * Finds many texts in a time that does not depend on their number, also if all begin alike, as `whsec_` in the secrets of some
 * services: it depends on the length of the searched text, and on how many different lengths the texts have.
 */
class Spellings {
  readonly #texts = new Set<string>()
  /** The lengths of the texts that begin with these characters. */
  readonly #lengthsByStart = new Map<string, Set<number>>()
  readonly #firstUnits = new Set<number>()
  #longest = 0

  constructor(secrets: readonly string[]) {
    for (const secret of secrets) this.add(secret)
  }

  add(secret: string): void {
    for (const spelling of secretSpellings(secret).map(inLowerCase)) {
      const { length } = spelling
      if (length < MIN_LENGTH) continue
      this.#texts.add(spelling)
      const start = spelling.slice(0, MIN_LENGTH)
      const lengths = this.#lengthsByStart.get(start)
      if (lengths) lengths.add(length)
      else this.#lengthsByStart.set(start, new Set([length]))
      this.#firstUnits.add(spelling.charCodeAt(0))
      this.#longest = Math.max(this.#longest, length)
    }
  }

  hide(whole: string, limit: number): string {
    const end = Math.min(limit, whole.length)
    // The message of an error may have any length. Only this part is searched.
    const text = whole.slice(0, end + this.#longest)
    const lower = inLowerCase(text)
    let hidden = ''
    let from = 0
    for (let at = 0; at < end;) {
      const length = this.#lengthAt(lower, at)
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
    // One spelling may be the beginning of another.
    for (const length of this.#lengthsByStart.get(text.slice(at, at + MIN_LENGTH)) ?? []) {
      if (length > longest && this.#texts.has(text.slice(at, at + length))) longest = length
    }
    return longest
  }
}

/**
 * Client secrets are "not case-sensitive" (SERVICE 2.2). Each character has one form of the same length, whatever is around it: İ would
 * become two characters, and Σ is ς or σ, depending on the next character.
 */
function inLowerCase(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ')
}
