import { hash } from 'node:crypto'
import { valueDigest, type ProbeReport } from '../../probe/report.js'
import { bodyHypotheses } from '../body-changes.js'
import type { Exchange } from './exchange.js'
import { doctorFinding, DOCTOR_FINDINGS, type DoctorFinding, type DoctorFindingName } from './findings.js'
import { CALLBACK_HEADERS, type Probe } from './probe.js'

const SLOW_MS = 2_000

/** A large body is changed like a small one, and its alternatives would take long. */
const EXPLAINED_BYTES = 10_000

/** A smaller difference does not matter to the shortest sensible tolerance, and the latency is part of it. */
const CLOCK_DIFFERENCE_MS = 30_000

/** What was changed between the sender of a probe and the receiver. */
export function changesOnTheWay(exchange: Exchange, report: ProbeReport, url: URL): DoctorFinding[] {
  const { probe } = exchange
  const sentPath = url.pathname + url.search
  return [
    ...headerChanges(probe, report),
    ...bodyChanges(probe.body, report),
    ...(report.path === sentPath ? [] : [doctorFinding('path-rewritten', withHiddenQuery(report.path))]),
    ...timing(exchange, report),
  ]
}

function headerChanges({ headers: sent, nonce, key }: Probe, { headers }: ProbeReport): DoctorFinding[] {
  return CALLBACK_HEADERS.flatMap((header) => {
    const name = header.toLowerCase()
    const digest = valueDigest(sent[header]!, nonce, key)
    const lines = headers.filter((line) => line.name === name)
    const [line, ...more] = lines
    if (more.length > 0) return [doctorFinding('header-repeated', `${header}: ${lines.length} times`)]
    if (line?.digest === digest) return []
    const other = headers.find((each) => each.name !== name && each.digest === digest)
    const renamed = other ? [doctorFinding('header-renamed', `${header} arrived as ${other.name}`)] : []
    const isAuthorization = header === 'Authorization'
    if (!line)
      return [
        doctorFinding(isAuthorization ? 'authorization-stripped' : 'header-dropped', header),
        ...renamed,
      ]
    const seen = `${header}: ${line.length} characters${line.scheme === undefined ? '' : `, scheme ${line.scheme}`}`
    return [doctorFinding(isAuthorization ? 'authorization-replaced' : 'header-changed', seen), ...renamed]
  })
}

function bodyChanges(
  sent: Buffer,
  { body, refusedFor, headers, isChunked, contentLength }: ProbeReport,
): DoctorFinding[] {
  if (refusedFor === 'ERR_BODY_ALREADY_READ') return [doctorFinding('body-consumed')]
  const encoded = refusedFor === 'ERR_BODY_ENCODED' || headers.some(({ name }) => name === 'content-encoding')
  const bytes = `${sent.length} bytes were sent, ${body?.bytes ?? contentLength ?? 'none'} arrived`
  if (encoded) return [doctorFinding('body-compressed', bytes)]
  if (!body)
    return [
      doctorFinding(
        'body-changed',
        `${bytes}; the receiver refused it for ${refusedFor}${isChunked ? ' (chunked)' : ''}`,
      ),
    ]
  if (body.sha256 === hash('sha256', sent, 'hex')) return []
  if (body.bytes === 0) return [doctorFinding('body-empty')]
  const change = sent.length <= EXPLAINED_BYTES ? explainedChange(sent, body) : undefined
  if (change) return [change]
  const isBeginning = hash('sha256', sent.subarray(0, body.bytes), 'hex') === body.sha256
  return [doctorFinding(isBeginning ? 'body-truncated' : 'body-changed', bytes)]
}

/** The change of the body that gives exactly the bytes that arrived. */
function explainedChange(
  sent: Buffer,
  { bytes, sha256 }: NonNullable<ProbeReport['body']>,
): DoctorFinding | undefined {
  const isArrived = (value: Buffer): boolean =>
    value.length === bytes && hash('sha256', value, 'hex') === sha256
  const normalised = Buffer.from(JSON.stringify(JSON.parse(sent.toString('utf8'))))
  if (isArrived(normalised)) return doctorFinding('body-reserialised')
  // A parser may also have changed numbers and escapes.
  for (const start of [sent, normalised]) {
    for (const { cause, alternatives } of bodyHypotheses(undefined)) {
      for (const { value, change } of alternatives(start)) {
        if (!isArrived(value)) continue
        const name = start === normalised || !isFindingName(cause) ? 'body-reserialised' : cause
        return doctorFinding(name, change)
      }
    }
  }
  return undefined
}

function timing(exchange: Exchange, { receivedAtMs }: ProbeReport): DoctorFinding[] {
  const durationMs = exchange.durationMs - exchange.pauseMs
  const aheadMs = receivedAtMs - (exchange.startedAtMs + exchange.pauseMs + durationMs / 2)
  const direction = aheadMs > 0 ? 'ahead of' : 'behind'
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  return [
    ...(durationMs > SLOW_MS ? [doctorFinding('slow-path', `${durationMs} ms`)] : []),
    ...(Math.abs(aheadMs) > CLOCK_DIFFERENCE_MS + durationMs
      ? [doctorFinding('clock-differs', `the receiver is ${seconds} s ${direction} this machine`)]
      : []),
  ]
}

function isFindingName(name: string): name is DoctorFindingName {
  return Object.hasOwn(DOCTOR_FINDINGS, name)
}

function withHiddenQuery(path: string): string {
  const [start] = path.split('?', 1)
  return start === path ? path : `${start}?…`
}
