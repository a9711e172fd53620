import { createProbe, type Probe, type ProbeOptions } from '../../src/diagnosis/doctor/probe.js'
import { openReport, type ProbeReport } from '../../src/probe/report.js'
import { SECRET, subscription } from '../support/subscription.js'

export function probeOf(options: Partial<ProbeOptions> = {}): Probe {
  return createProbe({
    secret: SECRET,
    eventTypeName: subscription.eventTypeName,
    sentAtMs: Date.now(),
    ...options,
  })
}

/** The bytes of a probe. `null` removes a header. */
export function bytesOf(
  { headers, body: own }: Probe,
  changes: Record<string, string | null> = {},
  body: Buffer = own,
): Buffer {
  const all = { Host: 'partner.example.com', ...headers, 'Content-Length': String(body.length), ...changes }
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === null ? [] : `${name}: ${value}\r\n`,
  )
  return Buffer.concat([Buffer.from(`POST /hooks/transfers HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

/** The genuine report in an answer. */
export function reportIn({ body }: { body: Buffer }, { nonce, key }: Probe): ProbeReport | undefined {
  return openReport(body.toString('latin1'), nonce, key)
}
