import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { OutcomeCode } from '../callback/outcomes.js'

/** What the receiver got of a probe. Header values are not in it: a proxy may have added secrets of its own. */
export interface ProbeReport {
  /** The receiver's clock, in milliseconds since 1970. */
  readonly receivedAtMs: number
  readonly method: string | undefined
  /** Path and query of the request. */
  readonly path: string
  /** `1.0`, `1.1` or `2.0`; undefined if the server does not tell. */
  readonly httpVersion: string | undefined
  /** `IPv4` or `IPv6`, of the last connection; undefined if the server does not tell. */
  readonly addressFamily: string | undefined
  /** The header lines in order, at most 200. */
  readonly headers: readonly ReportedHeader[]
  readonly contentLength: string | undefined
  readonly isChunked: boolean
  /** Undefined if the body was not read. */
  readonly body: { readonly bytes: number; readonly sha256: string } | undefined
  /** What a callback with this request would have been refused for; `ERR_SIGNATURE_MISMATCH` if all of it arrived. */
  readonly refusedFor: OutcomeCode
  /** From the head of the request to the end of its body. */
  readonly durationMs: number
  readonly maxBodyBytes: number
  readonly toleranceMs: number
  readonly futureToleranceMs: number
}

export interface ReportedHeader {
  /** In lower case. */
  readonly name: string
  readonly length: number
  /** `valueDigest` of the value, so that only the sender of the probe can compare it. */
  readonly digest: string
  /** Of `Authorization`, if it is a known one. */
  readonly scheme?: string
}

const REPORT = /countersign-report-1\.([\w-]+)\.([\w-]{43})/

/** The answer to a probe: ASCII, without characters that a proxy could have a reason to change. */
export function sealReport(report: ProbeReport, nonce: string, key: KeyObject): string {
  const content = Buffer.from(JSON.stringify(report)).toString('base64url')
  return `countersign-report-1.${content}.${reportMac(content, nonce, key).toString('base64url')}`
}

/** The report in the answer to the probe with this nonce, or undefined if there is none that is genuine. */
export function openReport(answer: string, nonce: string, key: KeyObject): ProbeReport | undefined {
  const [, content, mac] = REPORT.exec(answer) ?? []
  if (content === undefined || mac === undefined) return undefined
  const expected = reportMac(content, nonce, key)
  const received = Buffer.from(mac, 'base64url')
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined
  return JSON.parse(Buffer.from(content, 'base64url').toString('utf8')) as ProbeReport
}

/** Identifies a header value within one report. It is keyed, so that short values cannot be guessed from it. */
export function valueDigest(value: string, nonce: string, key: KeyObject): string {
  return createHmac('sha256', key).update(`value\n${nonce}\n${value}`).digest('hex').slice(0, 16)
}

function reportMac(content: string, nonce: string, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(`report\n${nonce}\n${content}`).digest()
}
