import type { ProbeReport } from '../../probe/report.js'
import type { Exchange } from './exchange.js'
import { doctorFinding, type DoctorFinding } from './findings.js'
import { unansweredFinding } from './unanswered.js'

/** What became of a body whose halves were sent with a pause between them. */
export function slowUpload(exchange: Exchange, report: ProbeReport | undefined): DoctorFinding[] {
  const { durationMs, pauseMs } = exchange
  const cut = (seen: string) => [doctorFinding('slow-upload-cut', seen)]
  if (!report) return cut(`${unansweredFinding(exchange).seen ?? 'no answer'} after ${durationMs} ms`)
  const { refusedFor, durationMs: arrivedWithinMs, body } = report
  if (refusedFor === 'ERR_BODY_TIMEOUT')
    return cut(`by the receiver after ${arrivedWithinMs} ms: bodyTimeoutMs`)
  // What does not arrive, or is not read, takes no time.
  if (!body?.bytes) return []
  // A proxy that forwards what it has makes the receiver wait as long as the sender did.
  if (arrivedWithinMs >= pauseMs / 2) return []
  return [
    doctorFinding('body-buffered', `a body that took ${pauseMs} ms arrived within ${arrivedWithinMs} ms`),
  ]
}
