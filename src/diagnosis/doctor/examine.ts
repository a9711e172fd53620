import { openReport, type ProbeReport } from '../../probe/report.js'
import { changesOnTheWay } from './compare.js'
import { sendHttp1, type Exchange } from './exchange.js'
import { doctorFinding, findingId, type DoctorFinding } from './findings.js'
import { furtherProbes, type FurtherProbe } from './further-probes.js'
import { networkPath, type Step } from './network-path.js'
import { createProbe, type Probe } from './probe.js'
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

/**
 * Sends probes through the public URL to the running receiver, one after the other. Names what was changed on the way;
 * without a running receiver, how far it came. Never rejects.
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

  let first = await firstReport(options)
  if (!first.report) {
    const finding = unansweredFinding(first.exchange)
    first = await firstReport(options)
    if (!first.report) {
      steps.push({ name: 'HTTP/1.1', ok: false, seen: finding.seen ?? finding.name })
      findings.push(finding)
      return end('http')
    }
    findings.push(doctorFinding('probe-lost', finding.seen))
  }
  const { secret, offsetMs, report, exchange } = first
  steps.push({ name: 'HTTP/1.1', ok: true, seen: arrived(exchange, report) })
  const known = changesOnTheWay(exchange, report, url)
  findings.push(...known)

  const { maxBodyBytes } = report
  const sent = async ({
    send,
    bodyBytes = 0,
  }: Pick<FurtherProbe, 'send' | 'bodyBytes'>): Promise<Attempt> => {
    const sentAtMs = Date.now() + offsetMs
    const { eventTypeName } = options
    const answered = await send(createProbe({ secret, eventTypeName, sentAtMs, bodyBytes }))
    return { exchange: answered, report: reportOf(answered) }
  }
  const plain = { send: (probe: Probe) => sendHttp1(url, probe, { timeoutMs }) }
  for (const further of furtherProbes({ url, timeoutMs, pauseMs, maxBodyBytes, offersHttp2, known })) {
    const { name, judge } = further
    const { exchange: answered, report: reported } = await sent(further)
    const isLost = !reported && !(await onlyFails(further, plain, sent))
    const found = isLost
      ? [doctorFinding('probe-lost', unansweredFinding(answered).seen)]
      : judge(answered, reported)
    const problem = found.find(({ severity }) => severity === 'problem')
    const seen = reported ? arrived(answered, reported) : (problem?.seen ?? 'no report')
    steps.push({ name, ok: !problem, seen })
    findings.push(...found)
  }
  return end('receiver')
}

interface Attempt {
  readonly exchange: Exchange
  readonly report: ProbeReport | undefined
}

/**
 * Whether a probe that failed does so again, and the plain probe does not. Otherwise the probe was lost for another reason. With
 * these numbers of probes, a proxy that sends one of several requests in turn to a wrong server is noticed, whatever their number.
 */
async function onlyFails<Sent>(
  failed: Sent,
  plain: Sent,
  send: (probe: Sent) => Promise<Attempt>,
): Promise<boolean> {
  for (let count = 0; count < 3; count++) if (!(await send(plain)).report) return false
  for (let count = 0; count < 2; count++) if ((await send(failed)).report) return false
  return true
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
    // The probe is refused if the clocks differ by more than its window.
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
    const id = findingId(finding)
    if (!byName.has(id)) byName.set(id, finding)
  }
  const order = (finding: DoctorFinding): number => (finding.severity === 'problem' ? 0 : 1)
  return [...byName.values()].sort((one, other) => order(one) - order(other))
}
