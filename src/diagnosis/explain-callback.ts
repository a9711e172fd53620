import { parseUrl } from '../base/parse-url.js'
import { startProcessorTimer } from '../base/processor-time.js'
import { hashBody } from '../signature/string-to-sign.js'
import { bodyHypotheses } from './body-changes.js'
import type { Cause } from './causes.js'
import { unchanged, variants, type Variant, type VariantOptions } from './change.js'
import { contentLength, likelyFindings } from './evidence.js'
import { findingOfSign, provenFindings, type Finding } from './finding.js'
import {
  parseExplainOptions,
  type ExplainedSubscription,
  type ExplainOptions,
  type ExplainSettings,
} from './options.js'
import { linesOf, type ReceivedRequest, valuesOf, type HeaderLine } from './received-request.js'
import { partsOf, requestUrls, type RequestUrls } from './request-urls.js'
import { search, type SearchSpace } from './search.js'
import { SearchLimit } from './search-limit.js'
import { secretHypotheses } from './secret-changes.js'
import { signatureCandidates } from './signature-candidates.js'
import { meaningOf, otherSignatures, tryOtherLengths } from './signature-lengths.js'
import { withoutMarkers } from './signature-marker.js'
import { timestampVariants } from './timestamp-variants.js'
import { urlHypotheses } from './url-changes.js'
import { unverifiedClock, verifiedFindings } from './verified-findings.js'

/** The result of `explainCallback`. */
export interface Explanation {
  /** Whether the signature matches the configuration without any change. */
  readonly verified: boolean
  /** The most certain first. Empty if the callback is verified and nothing else is wrong with it. */
  readonly findings: readonly Finding[]
  /** How many HMACs were computed. */
  readonly hmacs: number
  /** The limit that ended the search before everything was tried, if one did. */
  readonly stoppedBy?: 'maxHmacs' | 'maxMs'
}

/**
 * Explains why the signature of a request does not match: computes the signature under each likely mistake, and names the one
 * that matches. It never accepts a callback. What it returns contains no secret, no signature and no body.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function explainCallback(request: ReceivedRequest, options: ExplainOptions): Explanation {
  // Before the options are checked, which takes time in proportion to the number of subscriptions.
  const timer = startProcessorTimer()
  const settings = parseExplainOptions(options)
  const limit = new SearchLimit(settings.maxHmacs, settings.maxMs, timer)
  // A capture has salted digests in place of signatures.
  const { lines, salted } = withoutMarkers(linesOf(request))
  const body = Buffer.from(request.body.buffer, request.body.byteOffset, request.body.byteLength)
  const urls = requestUrls(request.path, lines)
  const subscriptions = rankedSubscriptions(settings.subscriptions, lines, urls)
  let spaces: readonly SearchSpace<ExplainedSubscription>[] = []
  const spacesOf = (changed: 'as-configured' | 'changed') =>
    (spaces = subscriptions.map((subscription, rank) => {
      const isChanged = changed === 'changed' && rank < MAX_SUBSCRIPTIONS_CHANGED
      // Listing pairs takes longer than trying them, so they are listed for the likeliest subscription only.
      const isOver = () => limit.isTimeOver()
      return spaceOf(subscription, isChanged && { withPairs: rank === 0, isOver }, settings, urls)
    }))
  const isRead = request.bodyRead !== false
  // Every signature covers the body.
  const signatures = isRead ? salted(signatureCandidates(lines)) : []
  const timestamps = timestampVariants(lines)
  let bodyHashes: readonly Variant<string>[] = []
  const shared = {
    timestamps,
    bodyHash: unchanged(hashBody(body)),
    otherBodyHashes: () => (bodyHashes = otherBodyHashes(body, contentLength(lines), limit)),
    signatures,
  }
  // Before the search, which may take all of the time. Each costs a few HMACs.
  const others = isRead ? otherSignatures(lines) : []
  const otherLengths =
    others.length > 0
      ? tryOtherLengths(others, spacesOf('as-configured'), timestamps[0], body, limit)
      : { ruledOut: [] }
  const { matches, triedSingles } = otherLengths.match
    ? { matches: [otherLengths.match], triedSingles: false }
    : search(spacesOf, shared, limit)

  const work = () => ({ hmacs: limit.hmacs, ...(limit.stoppedBy && { stoppedBy: limit.stoppedBy }) })
  const asConfigured = matches.find(({ inputs, signature }) => [signature, ...inputs].every(isUnchanged))
  if (asConfigured) {
    const findings = verifiedFindings(request, asConfigured, settings, limit)
    return { verified: true, findings, ...work() }
  }
  const hidden = [...settings.subscriptions.flatMap((each) => each.secrets), ...settings.previousSecrets]
  // What is shown is shorter than a longer body.
  if (body.length >= MIN_HIDDEN_BODY_BYTES && body.length <= MAX_HIDDEN_BODY_BYTES)
    hidden.push(body.toString('utf8').trim())
  const proven = matches.length > 0 ? provenFindings(matches, hidden) : []
  if (proven.length > 0) {
    // Whoever mends the first mistake must not find the next one only then.
    const more = verifiedFindings(request, matches[0]!, settings, limit)
    return { verified: false, findings: [...proven, ...more], ...work() }
  }

  const tried = [
    ...spaces.flatMap((space) => [...space.secrets.flat(), ...space.urls]),
    ...timestamps,
    ...bodyHashes,
    ...signatures,
  ]
  const causes = [...(triedSingles ? singleCauses(tried) : []), ...otherLengths.ruledOut]
  const likely = likelyFindings(lines, isRead ? body : undefined, {
    signatures: signatures.length > 0,
    causes,
  })
  const ruledOut = causes.filter((cause) => likely.every((each) => each.cause !== cause))
  const forged = findingOfSign('forged-or-unknown', {
    ...(otherLengths.ruledOut.length > 0 && { sign: `${meaningOf(others[0]!)}, which was tried` }),
    ruledOut,
  })
  const findings = [
    ...likely,
    limit.hmacs > 0 ? forged : { ...forged, message: isRead ? NO_SIGNATURE : NO_BODY },
    ...unverifiedClock(request, settings),
  ]
  return { verified: false, findings, ...work() }
}

const NO_SIGNATURE =
  'No signature arrived that could be compared: the callback may also be forged, or the cause is another one.'
const NO_BODY =
  'The body is not known, so no signature could be compared: the callback may also be forged, or the cause is another one.'

/** A shorter body is part of any word. */
const MIN_HIDDEN_BODY_BYTES = 6
const MAX_HIDDEN_BODY_BYTES = 1_024

/** Changes are tried for this many subscriptions, because each change costs an HMAC. The others are tried as configured. */
const MAX_SUBSCRIPTIONS_CHANGED = 5
const MAX_OTHERS = 100

function spaceOf(
  subscription: ExplainedSubscription,
  changed: VariantOptions | false,
  { subscriptions, previousSecrets, urls }: ExplainSettings,
  request: RequestUrls,
): SearchSpace<ExplainedSubscription> {
  const { callbackUrl, url, secrets } = subscription
  const [keys, parts] = [secrets.map((secret) => unchanged(Buffer.from(secret))), unchanged(partsOf(url))]
  if (!changed) return { subscription, secrets: keys.map((key) => [key]), urls: [parts] }
  const others = subscriptions.filter((each) => each !== subscription).slice(0, MAX_OTHERS)
  const ofSecrets = secretHypotheses({
    ofOtherSubscriptions: others.flatMap((each) => each.secrets).map((each) => Buffer.from(each)),
    previous: previousSecrets.map((each) => Buffer.from(each)),
  })
  const ofUrls = urlHypotheses(callbackUrl, request, [
    ...others.map((each) => each.url),
    ...urls.flatMap((each) => parseUrl(each) ?? []),
  ])
  return {
    subscription,
    secrets: keys.map((key) => variants(key, ofSecrets, (value) => value.toString('latin1'), changed)),
    urls: variants(parts, ofUrls, ({ host, path, query }) => `${path}${query}\n${host}`, changed),
  }
}

/** The hash of every other form of the body, so that no form is kept. Each is hashed once. */
function otherBodyHashes(body: Buffer, length: number | undefined, limit: SearchLimit): Variant<string>[] {
  const hashes = new WeakMap<Buffer, string>()
  const hashOf = (value: Buffer) => {
    const hash = hashes.get(value) ?? hashBody(value)
    hashes.set(value, hash)
    return hash
  }
  const [, ...others] = variants(unchanged(body), bodyHypotheses(length), hashOf, {
    isOver: () => limit.isHalfOver(),
  })
  return others.map((variant) => ({ ...variant, value: hashOf(variant.value) }))
}

function isUnchanged({ causes }: Variant<unknown>): boolean {
  return causes.length === 0
}

function singleCauses(tried: readonly Variant<unknown>[]): Cause[] {
  return [...new Set(tried.flatMap(({ causes }) => (causes.length === 1 ? causes : [])))].sort()
}

/** The subscriptions that the request is probably for come first: the search may end before all were tried. */
function rankedSubscriptions(
  subscriptions: readonly ExplainedSubscription[],
  lines: readonly HeaderLine[],
  { hosts, targets }: RequestUrls,
): ExplainedSubscription[] {
  const types = valuesOf(lines, 'x-event-type')
  const rank = ({ eventTypeName, url }: ExplainedSubscription) =>
    (types.includes(eventTypeName) ? 4 : 0) +
    (targets.some((target) => target.split('?', 1)[0] === url.pathname) ? 2 : 0) +
    (hosts.includes(url.host) ? 1 : 0)
  return subscriptions
    .map((subscription) => ({ subscription, rank: rank(subscription) }))
    .sort((one, other) => other.rank - one.rank)
    .map(({ subscription }) => subscription)
}
