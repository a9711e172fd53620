import { hashBody } from '../signature/string-to-sign.js'
import { unchanged } from './change.js'
import { findingOfSign, type Finding } from './finding.js'
import type { ExplainedSubscription, ExplainSettings } from './options.js'
import { linesOf, valuesOf, type HeaderLine, type ReceivedRequest } from './received-request.js'
import { signatureOf, type Match } from './search.js'
import type { SearchLimit } from './search-limit.js'
import { signatureCandidates } from './signature-candidates.js'
import { isSame, withoutMarkers, type ReceivedSignature } from './signature-marker.js'
import { certainMomentOf } from './timestamp-changes.js'

/** Differences of two callbacks that are caused by one wrong clock differ by no more than deliveries take. */
const SAME_DIFFERENCE_MS = 60_000

/**
 * What else may be wrong with a callback whose signature matches, as it is or with changes: its time, or that it arrived before.
 */
export function verifiedFindings(
  request: ReceivedRequest,
  match: Match<ExplainedSubscription>,
  settings: ExplainSettings,
  limit: SearchLimit,
): Finding[] {
  const lines = linesOf(request)
  const digest = signatureOf(match.inputs)
  const others = settings.otherRequests.filter(() => limit.take()).map(otherRequest)
  const found: Finding[] = []
  if (others.some((other) => isReplay(lines, digest, other))) {
    const sign = 'another request has the same signature and another idempotency key'
    found.push(findingOfSign('replayed', { sign }, 'proven'))
  }
  const differenceMs = differenceOf(request, signedMoment(match, lines))
  if (differenceMs === undefined) return found
  if (-differenceMs > settings.futureToleranceMs) {
    // Nothing can arrive before it was signed, so this is certain.
    const sign = 'it was signed after it arrived'
    found.push(findingOfSign('clock-skew', { sign, differenceMs }, 'proven'))
  } else if (differenceMs > settings.toleranceMs) {
    const differences = others
      .filter((other) => isVerified(other, match))
      .flatMap((other) => differenceOf(other.request, arrivedMoment(other.lines)) ?? [])
    const isSameForAll = differences.every((each) => Math.abs(each - differenceMs) <= SAME_DIFFERENCE_MS)
    if (differences.length > 0 && isSameForAll) {
      found.push(
        findingOfSign('clock-skew', { sign: 'the difference is the same for all requests', differenceMs }),
      )
    }
    found.push(
      findingOfSign('delivery-late', { sign: 'the difference is more than toleranceMs', differenceMs }),
    )
  }
  return found
}

/** What the time in a request says whose signature could not be matched. Whoever sent it may have written any time. */
export function unverifiedClock(
  request: ReceivedRequest,
  { toleranceMs, futureToleranceMs }: ExplainSettings,
): Finding[] {
  const differenceMs = differenceOf(request, arrivedMoment(linesOf(request)))
  if (differenceMs === undefined) return []
  if (-differenceMs > futureToleranceMs) {
    const sign = 'Authorization-Timestamp, which is not verified, is later than the time of arrival'
    return [{ ...findingOfSign('clock-skew', { sign, differenceMs }), cure: CURE_OF_UNVERIFIED }]
  }
  if (differenceMs <= toleranceMs) return []
  const sign = 'Authorization-Timestamp, which is not verified, is older than toleranceMs allows'
  return [{ ...findingOfSign('delivery-late', { sign, differenceMs }), cure: CURE_OF_UNVERIFIED }]
}

/** The cures of a verified callback could make a forged one acceptable. */
const CURE_OF_UNVERIFIED =
  'Find the cause of the signature first, and compare the clocks then: whoever sent the request may have written any time.'

interface OtherRequest {
  readonly request: ReceivedRequest
  readonly lines: readonly HeaderLine[]
  /** The one of Authorization, or its salted digest; undefined if it has another form. */
  readonly signature: ReceivedSignature | undefined
}

function otherRequest(request: ReceivedRequest): OtherRequest {
  const { lines, salted } = withoutMarkers(linesOf(request))
  const [signature] = salted(signatureCandidates(lines))
  return { request, lines, signature: signature?.causes.length === 0 ? signature : undefined }
}

function isReplay(lines: readonly HeaderLine[], digest: Buffer, other: OtherRequest): boolean {
  const keyOf = (each: readonly HeaderLine[]) => valuesOf(each, 'x-idempotency-key')[0]?.toLowerCase()
  return (
    other.signature !== undefined && isSame(digest, other.signature) && keyOf(lines) !== keyOf(other.lines)
  )
}

/** Whether the signature of another request is valid for the same subscription, with the secret and the URL that matched. */
function isVerified(
  { request, lines, signature }: OtherRequest,
  { subscription, inputs: [matched, url] }: Match<ExplainedSubscription>,
): boolean {
  const [timestamp, ...more] = valuesOf(lines, 'authorization-timestamp')
  if (!signature || timestamp === undefined || more.length > 0 || request.bodyRead === false) return false
  const bodyHash = unchanged(hashBody(request.body))
  const secrets = [matched, ...subscription.secrets.map((secret) => unchanged(Buffer.from(secret)))]
  return secrets.some((secret) =>
    isSame(signatureOf([secret, url, unchanged(timestamp), bodyHash]), signature),
  )
}

/** When it was signed. A text in another form may name another moment, so the one that arrived counts. */
function signedMoment(
  { inputs: [, , timestamp] }: Match<ExplainedSubscription>,
  lines: readonly HeaderLine[],
): number | undefined {
  return timestamp.causes.includes('timestamp-reformatted')
    ? arrivedMoment(lines)
    : certainMomentOf(timestamp.value)
}

function arrivedMoment(lines: readonly HeaderLine[]): number | undefined {
  return certainMomentOf(valuesOf(lines, 'authorization-timestamp')[0] ?? '')
}

/** How much later a request arrived than it was signed. */
function differenceOf({ receivedAt }: ReceivedRequest, signedAt: number | undefined): number | undefined {
  return receivedAt && signedAt !== undefined ? receivedAt.getTime() - signedAt : undefined
}
