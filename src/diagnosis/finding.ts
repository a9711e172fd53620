import { textMask } from '../base/mask-texts.js'
import { printable } from '../base/printable.js'
import { CAUSES, type Cause, type CauseTexts } from './causes.js'
import type { Variant } from './change.js'
import type { ExplainedSubscription } from './options.js'
import type { Match } from './search.js'

/** One explanation. It contains no secret, no signature and no body. */
export interface Finding {
  /** A stable name; docs/diagnosis.md explains each. */
  readonly cause: Cause
  /** The second cause, if the signature matches only with both changes. */
  readonly togetherWith?: Cause
  /** `proven`: the signature matches under exactly this change, or both. `likely`: there are only signs of it. */
  readonly certainty: 'proven' | 'likely'
  /** What happened. */
  readonly message: string
  /** What to change. */
  readonly cure: string
  readonly details: FindingDetails
}

export interface FindingDetails {
  /** Without the query of its URL, which may hold a credential. */
  readonly subscription?: {
    readonly id?: string
    readonly eventTypeName: string
    readonly callbackUrl: string
  }
  /** What was changed so that the signature matched, such as `without the line end`. */
  readonly changes?: readonly string[]
  /** The place in `previousSecrets` of the secret that was signed with, or from which that one was made. */
  readonly previousSecret?: number
  /** Host and path that were signed, without the query, if they are not the configured ones. */
  readonly signedUrl?: string
  /** The sign from which a likely finding was concluded. */
  readonly sign?: string
  /** How much later than it was signed the callback arrived, in milliseconds. Negative if the clock of the service is ahead. */
  readonly differenceMs?: number
  /** Causes of which no alternative matched. Others could not be tried, such as a body that is not JSON. */
  readonly ruledOut?: readonly Cause[]
}

const MAX_SHOWN = 200

/** Findings of matches, each cause or pair once. `hidden` are texts that they must not contain. */
export function provenFindings(
  matches: readonly Match<ExplainedSubscription>[],
  hidden: readonly string[],
): Finding[] {
  const findings = new Map<string, Finding>()
  for (const { subscription, inputs, signature } of matches) {
    const [secret, url] = inputs
    const all = [signature, ...inputs]
    const causes = [...new Set(all.flatMap((each) => each.causes))]
    const [cause, second] = causes
    if (cause === undefined || findings.has(causes.join(' '))) continue
    // The secret that matched is often not the configured one.
    const mask = textMask([
      ...hidden,
      secret.value.toString('utf8'),
      secret.value.toString('latin1'),
      signature.value.toString('base64'),
    ])
    const shown = shownText(mask)
    const { host, path } = url.value
    const previousSecret = secret.previousSecret
    const isOtherUrl = url.causes.some((each) => each !== 'url-query' && each !== 'url-fragment')
    findings.set(causes.join(' '), {
      cause,
      ...(second && { togetherWith: second }),
      certainty: 'proven',
      ...bothTexts(textsOf(cause, all, mask), second && textsOf(second, all, mask)),
      details: {
        subscription: shownSubscription(subscription, shown),
        // Only own texts have a name of the request.
        changes: all.flatMap(({ changes, texts }) => (texts ? changes.map(mask) : changes)),
        ...(previousSecret !== undefined && { previousSecret }),
        ...(isOtherUrl && { signedUrl: shown(host + path) }),
      },
    })
  }
  return [...findings.values()]
}

/** A finding that was concluded from a sign. It claims no more than `likely`, unless the sign proves it. */
export function findingOfSign(
  cause: Cause,
  details: FindingDetails,
  certainty: Finding['certainty'] = 'likely',
): Finding {
  const { message, likely = message, cure }: CauseTexts = CAUSES[cause]
  return { cause, certainty, message: certainty === 'likely' ? likely : message, cure, details }
}

function bothTexts(one: CauseTexts, other: CauseTexts | undefined): Pick<Finding, 'message' | 'cure'> {
  return {
    message: other ? `${one.message} In addition: ${other.message}` : one.message,
    cure: other ? `${one.cure} ${other.cure}` : one.cure,
  }
}

/** The texts of a cause, or those that the variants with it have in this case. Both may have the same one. */
function textsOf(
  cause: Cause,
  variants: readonly Variant<unknown>[],
  mask: (text: string) => string,
): CauseTexts {
  const own = variants.flatMap(({ causes, texts }) => (texts && causes.includes(cause) ? texts : []))
  if (own.length === 0) return CAUSES[cause]
  const joined = (texts: readonly string[]) => mask([...new Set(texts)].join(' '))
  return { message: joined(own.map((each) => each.message)), cure: joined(own.map((each) => each.cure)) }
}

/**
 * Also a signature of another request that somebody put into a path: a long word, or 43 characters of Base64 with its padding,
 * which may have slashes. Its punctuation may be percent-encoded.
 */
const MAYBE_SIGNATURE = /(?:[\w+=-]|%(?:2[bf]|3d)){40,}|(?:[\w+/-]|%2[bf]){43}(?:=|%3d)/gi

/** Names and URLs may hold a secret that was put there by mistake, and the request decides what paths and hosts were tried. */
function shownText(mask: (text: string) => string): (text: string) => string {
  return (text) => printable(mask(text).replaceAll(MAYBE_SIGNATURE, '…')).slice(0, MAX_SHOWN)
}

function shownSubscription(
  { id, eventTypeName, callbackUrl }: ExplainedSubscription,
  shown: (text: string) => string,
): NonNullable<FindingDetails['subscription']> {
  return {
    ...(id !== undefined && { id: shown(id) }),
    eventTypeName: shown(eventTypeName),
    callbackUrl: shown(callbackUrl.split(/[?#]/, 1)[0]!.replace(/\/\/[^/]*@/, '//')),
  }
}
