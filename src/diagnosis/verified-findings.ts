import { hashBody } from '../signature/string-to-sign.js'
import { parseHttpDate } from '../signature/index.js'
import { unchanged } from './change.js'
import { likelyFinding, type Finding } from './finding.js'
import type { ExplainedSubscription, ExplainSettings } from './options.js'
import { linesOf, valuesOf, type HeaderLine, type ReceivedRequest } from './received-request.js'
import { signatureOf, type Match } from './search.js'
import type { SearchLimit } from './search-limit.js'
import { signatureCandidates } from './signature-candidates.js'
import { isSame, withoutMarkers, type ReceivedSignature } from './signature-marker.js'
import { partsOf } from './request-urls.js'

/** Differences of two callbacks that are caused by one wrong clock differ by no more than deliveries take. */
const SAME_DIFFERENCE_MS = 60_000

/** What may be wrong with a callback whose signature is valid: its time, or that it arrived before. */
export function verifiedFindings(
  request: ReceivedRequest,
  { subscription, inputs }: Match<ExplainedSubscription>,
  settings: ExplainSettings,
  limit: SearchLimit,
): Finding[] {
  const lines = linesOf(request)
  const digest = signatureOf(inputs)
  const others = settings.otherRequests.filter(() => limit.take()).map(otherRequest)
  const found: Finding[] = []
  if (others.some((other) => isReplay(lines, digest, other))) {
    const sign = 'another request has the same signature and another idempotency key'
    found.push({ ...likelyFinding('replayed', { sign }), certainty: 'proven' })
  }
  const differenceMs = differenceOf(request, lines)
  if (differenceMs === undefined) return found
  if (-differenceMs > settings.futureToleranceMs) {
    // Nothing can arrive before it was signed, so this is certain.
    const sign = 'it was signed after it arrived'
    found.push({ ...likelyFinding('clock-skew', { sign, differenceMs }), certainty: 'proven' })
  } else if (differenceMs > settings.toleranceMs) {
    const differences = others
      .filter((other) => isVerified(other, subscription))
      .flatMap((other) => differenceOf(other.request, other.lines) ?? [])
    const isSameForAll = differences.every((each) => Math.abs(each - differenceMs) <= SAME_DIFFERENCE_MS)
    if (differences.length > 0 && isSameForAll) {
      found.push(
        likelyFinding('clock-skew', { sign: 'the difference is the same for all requests', differenceMs }),
      )
    }
    found.push(
      likelyFinding('delivery-late', { sign: 'the difference is more than toleranceMs', differenceMs }),
    )
  }
  return found
}

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

/** Whether the signature of another request is valid for the same subscription. */
function isVerified(
  { request, lines, signature }: OtherRequest,
  subscription: ExplainedSubscription,
): boolean {
  const [timestamp, ...more] = valuesOf(lines, 'authorization-timestamp')
  if (!signature || timestamp === undefined || more.length > 0 || request.bodyRead === false) return false
  const url = unchanged(partsOf(subscription.url))
  const bodyHash = unchanged(hashBody(request.body))
  return subscription.secrets.some((secret) =>
    isSame(signatureOf([unchanged(Buffer.from(secret)), url, unchanged(timestamp), bodyHash]), signature),
  )
}

/** How much later a verified request arrived than it was signed. */
function differenceOf({ receivedAt }: ReceivedRequest, lines: readonly HeaderLine[]): number | undefined {
  const signedAt = parseHttpDate(valuesOf(lines, 'authorization-timestamp')[0] ?? '')
  return receivedAt && signedAt !== undefined ? receivedAt.getTime() - signedAt : undefined
}
