import type { ProbeReport } from '../../probe/report.js'
import { changesOnTheWay } from './compare.js'
import { sendHttp1, sendHttp2, type Exchange, type SendOptions } from './exchange.js'
import { doctorFinding, findingId, type DoctorFinding, type DoctorFindingName } from './findings.js'
import type { Probe } from './probe.js'
import { unansweredFinding } from './unanswered.js'

/** A probe that is sent when the receiver has answered the first one. It differs from that one in one property. */
export interface FurtherProbe {
  readonly name: string
  /** The length of its body. @default the shortest */
  readonly bodyBytes?: number
  readonly send: (probe: Probe) => Promise<Exchange>
  /** What the exchange shows. The report is undefined if the receiver did not answer. */
  readonly judge: (exchange: Exchange, report: ProbeReport | undefined) => readonly DoctorFinding[]
}

interface FurtherProbesOptions {
  readonly url: URL
  /** How long one probe may take, in milliseconds. */
  readonly timeoutMs: number
  /** How long the slow upload waits between the halves of its body, in milliseconds. */
  readonly pauseMs: number
  /** The largest body that the receiver reads. */
  readonly maxBodyBytes: number
  readonly offersHttp2: boolean
  /** What the first probe has shown. */
  readonly known: readonly DoctorFinding[]
}

/** A larger probe would be a load of its own. */
const MAX_PROBE_BYTES = 10_485_760

/** The further probes, in the order in which they are sent. */
export function furtherProbes({
  url,
  timeoutMs,
  pauseMs,
  maxBodyBytes,
  offersHttp2,
  known,
}: FurtherProbesOptions): readonly FurtherProbe[] {
  const http1 = (options: Omit<SendOptions, 'timeoutMs'>) => (probe: Probe) =>
    sendHttp1(url, probe, { timeoutMs, ...options })
  // What changes the first body changes the others, and the first is the one that can be explained.
  const isBodyKnown = known.some(isBodyChange)
  const knownIds = new Set(known.map(findingId))
  const changes = (exchange: Exchange, report: ProbeReport): DoctorFinding[] =>
    changesOnTheWay(exchange, report, url).filter(
      (finding) => !knownIds.has(findingId(finding)) && !(isBodyKnown && isBodyChange(finding)),
    )
  const bodyBytes = Math.min(maxBodyBytes, MAX_PROBE_BYTES)

  return [
    {
      name: 'chunked body',
      send: http1({ chunked: true }),
      judge: (exchange, report) =>
        report ? changes(exchange, report) : [unanswered('chunked-refused', exchange)],
    },
    {
      name: 'Expect: 100-continue',
      send: http1({ expectContinue: true }),
      judge: (exchange, report) => {
        if (!report) return [unanswered('expect-mishandled', exchange)]
        if (!exchange.continued) return [doctorFinding('expect-mishandled', 'no 100 Continue')]
        return changes(exchange, report)
      },
    },
    {
      name: `upload with a pause of ${pauseMs} ms`,
      send: http1({ pauseMs }),
      judge: (exchange, report) => {
        const found = slowUpload(exchange, report)
        if (!report || report.refusedFor === 'ERR_BODY_TIMEOUT') return found
        return [...found, ...changes(exchange, report)]
      },
    },
    {
      name: `body of ${bodyBytes.toLocaleString('en')} bytes`,
      bodyBytes,
      send: http1({}),
      judge: (exchange, report) => (report ? changes(exchange, report) : [largeBodyUnanswered(exchange)]),
    },
    ...(offersHttp2
      ? [
          {
            name: 'HTTP/2',
            send: (probe: Probe) => sendHttp2(url, probe, { timeoutMs }),
            judge: (exchange: Exchange, report: ProbeReport | undefined) =>
              report ? changes(exchange, report) : [unanswered('http2-failed', exchange)],
          },
        ]
      : []),
  ]
}

function unanswered(name: DoctorFindingName, exchange: Exchange): DoctorFinding {
  return doctorFinding(name, unansweredFinding(exchange).seen)
}

/** Some servers close the connection in place of an answer. On a slow line the time may not be enough for the body. */
function largeBodyUnanswered(exchange: Exchange): DoctorFinding {
  const finding = unansweredFinding(exchange)
  const isClosed = finding.name === 'no-answer' && exchange.error !== 'ETIMEDOUT'
  return isClosed ? doctorFinding('body-limit', finding.seen) : finding
}

function isBodyChange({ name }: DoctorFinding): boolean {
  return name.startsWith('body-')
}

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
