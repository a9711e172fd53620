import type { ProbeReport } from '../../probe/report.js'
import type { Exchange } from './exchange.js'
import { doctorFinding, type DoctorFinding } from './findings.js'
import { unansweredFinding } from './unanswered.js'

/** The findings about a body whose two halves were sent with a pause between them. */
export function slowUpload(exchange: Exchange, report: ProbeReport | undefined): DoctorFinding[] {
  const { durationMs, pauseMs } = exchange
  const cut = (seen: string) => [doctorFinding('slow-upload-cut', seen)]
  if (!report) return cut(`${unansweredFinding(exchange).seen ?? 'no answer'} after ${durationMs} ms`)
  const { refusedFor, durationMs: arrivedWithinMs, body } = report
  if (refusedFor === 'ERR_BODY_TIMEOUT')
    return cut(`by the receiver after ${arrivedWithinMs} ms: bodyTimeoutMs`)
  // Without a body that has arrived and was read, there is no time to compare.
  if (!body?.bytes) return []
  // Through a proxy that forwards each part immediately, the body takes as long to arrive as the sender took to send it.
  if (arrivedWithinMs >= pauseMs / 2) return []
  return [
    doctorFinding('body-buffered', `a body that took ${pauseMs} ms arrived within ${arrivedWithinMs} ms`),
  ]
}
