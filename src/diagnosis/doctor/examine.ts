import { openReport, type ProbeReport } from '../../probe/report.js'
import { changesOnTheWay } from './compare.js'
import { sendHttp1, sendHttp2, type Exchange, type SendOptions } from './exchange.js'
import { doctorFinding, type DoctorFinding } from './findings.js'
import { networkPath, type Step } from './network-path.js'
import { createProbe, type Probe } from './probe.js'
import { slowUpload } from './slow-upload.js'
import { isFromReceiver, unansweredFinding } from './unanswered.js'

export interface ExamineOptions {
  /** The public URL. */
  readonly url: URL
  /** Of the subscription, the newest first. At most 3 are tried. */
  readonly secrets: readonly string[]
  readonly eventTypeName: string
  /** How long one connection or one probe may take, in milliseconds. */
  readonly timeoutMs: number
  /** How long the slow upload waits between the halves of its body, in milliseconds. Less than `timeoutMs`. */
  readonly pauseMs: number
  /** Certificates to trust in place of Node's. */
  readonly ca?: string | undefined
}

export interface Examination {
  /** Without the query, which may hold a token. */
  readonly url: string
  /** How far it came. `receiver`: the running receiver answered a probe. */
  readonly reached: 'nothing' | 'dns' | 'tcp' | 'http' | 'receiver'
  readonly steps: readonly Step[]
  /** Problems come first. */
  readonly findings: readonly DoctorFinding[]
}

/** A larger probe would be a load of its own. */
const MAX_PROBE_BYTES = 10_485_760

/**
 * Sends probes through the public URL to the running receiver, at most 12, one after the other. Names what was changed
 * on the way; without a running receiver, how far it came. Never rejects.
 */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const { url, timeoutMs, pauseMs } = options
  const { reached, steps: pathSteps, findings: pathFindings, offersHttp2 } = await networkPath(url, options)
  const steps = [...pathSteps]
  const findings = [...pathFindings]
  const end = (at: Examination['reached']): Examination => ({
    url: `${url.origin}${url.pathname}`,
    reached: at,
    steps,
    findings: distinct(findings),
  })
  if (reached !== 'http') return end(reached)

  const first = await firstReport(options)
  if (!first.report) {
    const finding = unansweredFinding(first.exchange)
    steps.push({ name: 'HTTP/1.1', ok: false, seen: finding.seen ?? finding.name })
    findings.push(finding)
    return end('http')
  }
  const { secret, offsetMs, report, exchange } = first
  steps.push({ name: 'HTTP/1.1', ok: true, seen: arrived(exchange, report) })
  const known = changesOnTheWay(exchange, report, url)
  findings.push(...known)

  const attempt = async (
    name: string,
    send: (probe: Probe) => Promise<Exchange>,
    judge: (exchange: Exchange, report: ProbeReport | undefined) => DoctorFinding[],
    bodyBytes = 0,
  ): Promise<void> => {
    const sentAtMs = Date.now() + offsetMs
    const probe = createProbe({ secret, eventTypeName: options.eventTypeName, sentAtMs, bodyBytes })
    const exchange = await send(probe)
    const report = reportOf(exchange)
    const found = judge(exchange, report)
    const failed = found.find(({ severity }) => severity === 'problem')
    steps.push({
      name,
      ok: !failed,
      seen: report ? arrived(exchange, report) : (failed?.seen ?? 'no report'),
    })
    findings.push(...found)
  }
  const http1 = (more: Omit<SendOptions, 'timeoutMs'>) => (probe: Probe) =>
    sendHttp1(url, probe, { timeoutMs, ...more })
  const isBodyChange = ({ name }: DoctorFinding): boolean => name.startsWith('body-')
  // What changes the first body changes the others, and the first is the one that can be explained.
  const changes = (exchange: Exchange, report: ProbeReport): DoctorFinding[] => {
    const found = changesOnTheWay(exchange, report, url)
    return known.some(isBodyChange) ? found.filter((finding) => !isBodyChange(finding)) : found
  }

  await attempt('chunked body', http1({ chunked: true }), (exchange, report) => {
    if (!report) return [doctorFinding('chunked-refused', unansweredFinding(exchange).seen)]
    return changes(exchange, report)
  })
  await attempt('Expect: 100-continue', http1({ expectContinue: true }), (exchange, report) => {
    if (!report) return [doctorFinding('expect-mishandled', unansweredFinding(exchange).seen)]
    return exchange.continued
      ? changes(exchange, report)
      : [doctorFinding('expect-mishandled', 'no 100 Continue')]
  })
  await attempt(`upload with a pause of ${pauseMs} ms`, http1({ pauseMs }), (exchange, report) => {
    const found = slowUpload(exchange, report)
    return report && report.refusedFor !== 'ERR_BODY_TIMEOUT'
      ? [...found, ...changes(exchange, report)]
      : found
  })
  const largest = Math.min(report.maxBodyBytes, MAX_PROBE_BYTES)
  const size = `body of ${largest.toLocaleString('en')} bytes`
  await attempt(
    size,
    http1({}),
    (exchange, report) => {
      if (report) return changes(exchange, report)
      const finding = unansweredFinding(exchange)
      // Some servers close the connection in place of an answer.
      return [finding.name === 'no-answer' ? doctorFinding('body-limit', finding.seen) : finding]
    },
    largest,
  )
  if (offersHttp2) {
    await attempt(
      'HTTP/2',
      (probe) => sendHttp2(url, probe, { timeoutMs }),
      (exchange, report) =>
        report
          ? changes(exchange, report)
          : [doctorFinding('http2-failed', unansweredFinding(exchange).seen)],
    )
  }
  return end('receiver')
}

interface First {
  readonly secret: string
  /** What has to be added to this machine's clock so that the receiver accepts the time of a probe. */
  readonly offsetMs: number
  readonly exchange: Exchange
  readonly report: ProbeReport | undefined
}

/** The first probe, with each secret, and then with the time of the other end. */
async function firstReport(options: ExamineOptions): Promise<First> {
  const { url, eventTypeName, timeoutMs } = options
  const secrets = options.secrets.slice(0, 3)
  let offsetMs = 0
  let last: First | undefined
  for (const isSecondTry of [false, true]) {
    for (const secret of secrets) {
      const probe = createProbe({ secret, eventTypeName, sentAtMs: Date.now() + offsetMs })
      const exchange = await sendHttp1(url, probe, { timeoutMs })
      const report = reportOf(exchange)
      last = { secret, offsetMs, exchange, report }
      if (report || !exchange.answer || !isFromReceiver(exchange.answer)) return last
    }
    const theirs = Date.parse(last?.exchange.answer?.headers.date ?? '')
    offsetMs = theirs - Date.now()
    // The probe is refused where the clocks differ by more than its window.
    if (isSecondTry || !(Math.abs(offsetMs) > 60_000)) break
  }
  return last!
}

function reportOf({ answer, probe }: Exchange): ProbeReport | undefined {
  return answer && openReport(answer.text, probe.nonce, probe.key)
}

function arrived({ durationMs }: Exchange, { httpVersion, addressFamily, body }: ProbeReport): string {
  const by = [httpVersion && `HTTP/${httpVersion}`, addressFamily].filter(Boolean).join(' over ')
  return `${body?.bytes.toLocaleString('en') ?? 'no'} body bytes arrived${by && ` by ${by}`}, ${durationMs} ms`
}

function distinct(findings: readonly DoctorFinding[]): DoctorFinding[] {
  const byName = new Map<string, DoctorFinding>()
  for (const finding of findings) {
    const id = `${finding.name} ${PER_PLACE.has(finding.name) ? finding.seen : ''}`
    if (!byName.has(id)) byName.set(id, finding)
  }
  const order = (finding: DoctorFinding): number => (finding.severity === 'problem' ? 0 : 1)
  return [...byName.values()].sort((one, other) => order(one) - order(other))
}

/** Findings about a header or an address, of which there may be several. */
const PER_PLACE: ReadonlySet<string> = new Set([
  'connection-failed',
  'header-renamed',
  'header-dropped',
  'header-repeated',
  'header-changed',
])
