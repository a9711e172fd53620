import { textMask } from '../base/mask-texts.js'
import { printable } from '../base/printable.js'
import { CAUSES, type Cause } from './causes.js'
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
    const shown = shownText([
      ...hidden,
      secret.value.toString('utf8'),
      secret.value.toString('latin1'),
      signature.value.toString('base64'),
    ])
    const { host, path } = url.value
    const isOtherUrl = url.causes.some((each) => each !== 'url-query' && each !== 'url-fragment')
    findings.set(causes.join(' '), {
      ...finding(cause, 'proven', second),
      details: {
        subscription: shownSubscription(subscription, shown),
        changes: all.flatMap((each) => each.changes),
        ...(isOtherUrl && { signedUrl: shown(host + path) }),
      },
    })
  }
  return [...findings.values()]
}

export function likelyFinding(cause: Cause, details: FindingDetails): Finding {
  return { ...finding(cause, 'likely'), details }
}

function finding(cause: Cause, certainty: Finding['certainty'], second?: Cause): Omit<Finding, 'details'> {
  const [one, other] = [CAUSES[cause], second && CAUSES[second]]
  return {
    cause,
    ...(second && { togetherWith: second }),
    certainty,
    message: other ? `${one.message} In addition: ${other.message}` : one.message,
    cure: other ? `${one.cure} ${other.cure}` : one.cure,
  }
}

/**
 * Also a signature of another request that somebody put into a path: a long word, or 43 characters of Base64 with its padding,
 * which may have slashes. Its punctuation may be percent-encoded.
 */
const MAYBE_SIGNATURE = /(?:[\w+=-]|%(?:2[bf]|3d)){40,}|(?:[\w+/-]|%2[bf]){43}(?:=|%3d)/gi

/** Names and URLs may hold a secret that was put there by mistake, and the request decides what paths and hosts were tried. */
function shownText(secrets: readonly string[]): (text: string) => string {
  const mask = textMask(secrets)
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
