import { verifyCallback } from '../signature/index.js'
import { likelyFinding, type Finding } from './finding.js'
import type { ExplainedSubscription, ExplainSettings } from './options.js'
import { headerLines, valuesOf, type HeaderLine, type ReceivedRequest } from './received-request.js'
import type { SearchLimit } from './search-limit.js'

/** Differences of two callbacks that are caused by one wrong clock differ by no more than deliveries take. */
const SAME_DIFFERENCE_MS = 60_000

/** What may be wrong with a callback whose signature is valid: its time, or that it arrived before. */
export function verifiedFindings(
  request: ReceivedRequest,
  subscription: ExplainedSubscription,
  settings: ExplainSettings,
  limit: SearchLimit,
): Finding[] {
  const lines = headerLines(request)
  const others = settings.otherRequests
    .filter(() => limit.take())
    .map((each) => ({ request: each, lines: headerLines(each) }))
  const found: Finding[] = []
  if (others.some((other) => isReplay(lines, other.lines))) {
    const sign = 'another request has the same signature and another idempotency key'
    found.push({ ...likelyFinding('replayed', { sign }), certainty: 'proven' })
  }
  const differenceMs = differenceOf(request, lines, subscription)
  if (differenceMs === undefined) return found
  if (-differenceMs > settings.futureToleranceMs) {
    // Nothing can arrive before it was signed, so this is certain.
    const sign = 'it was signed after it arrived'
    found.push({ ...likelyFinding('clock-skew', { sign, differenceMs }), certainty: 'proven' })
  } else if (differenceMs > settings.toleranceMs) {
    const differences = others.flatMap(
      (other) => differenceOf(other.request, other.lines, subscription) ?? [],
    )
    const isSame = differences.every((each) => Math.abs(each - differenceMs) <= SAME_DIFFERENCE_MS)
    if (differences.length > 0 && isSame) {
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

function isReplay(lines: readonly HeaderLine[], others: readonly HeaderLine[]): boolean {
  const same = (name: string) =>
    valuesOf(lines, name)[0]?.toLowerCase() === valuesOf(others, name)[0]?.toLowerCase()
  return (
    valuesOf(lines, 'authorization')[0] === valuesOf(others, 'authorization')[0] && !same('x-idempotency-key')
  )
}

/** How much later a verified request arrived than it was signed; undefined for any other request. */
function differenceOf(
  { body, receivedAt }: ReceivedRequest,
  lines: readonly HeaderLine[],
  { callbackUrl, secrets }: ExplainedSubscription,
): number | undefined {
  if (receivedAt === undefined) return undefined
  const [authorization, timestamp] = ['authorization', 'authorization-timestamp'].map((name) =>
    valuesOf(lines, name),
  )
  const result = verifyCallback({ callbackUrl, secret: secrets, authorization, timestamp, body })
  return result.valid ? receivedAt.getTime() - result.signedAt.getTime() : undefined
}
