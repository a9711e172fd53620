import { STATUS_CODES } from 'node:http'
import type { Exchange } from './exchange.js'
import { doctorFinding, type DoctorFinding } from './findings.js'

/** What an answer without a report says about the way. */
export function unansweredFinding({ answer, error }: Exchange): DoctorFinding {
  if (!answer) return doctorFinding('no-answer', error)
  const { status, headers } = answer
  const seen = `${status} ${STATUS_CODES[status] ?? ''}`.trim()
  if (status >= 300 && status < 400 && headers.location !== undefined)
    return doctorFinding('redirected', `${seen} to ${target(headers.location)}`)
  if (isFromReceiver(answer)) {
    if (status === 401) return doctorFinding('not-recognised', seen)
    if (status === 413)
      return doctorFinding('body-limit', `${seen}, from the receiver: its maxBodyBytes is smaller`)
    return doctorFinding(status >= 500 ? 'receiver-unavailable' : 'refused-on-the-way', seen)
  }
  if (status === 413) return doctorFinding('body-limit', seen)
  if (status === 417) return doctorFinding('expect-mishandled', seen)
  if ([502, 503, 504].includes(status)) return doctorFinding('receiver-unreachable', seen)
  if ([401, 403, 407, 429, 431, 451].includes(status)) return doctorFinding('refused-on-the-way', seen)
  return doctorFinding('not-the-receiver', seen)
}

/** Whether the receiver refused the request itself: its problem details have exactly this form. */
export function isFromReceiver({ status, headers, text }: NonNullable<Exchange['answer']>): boolean {
  const isProblem = headers['content-type'] === 'application/problem+json'
  return isProblem && text === JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status })
}

/** Without user information and query, which may hold a token. */
function target(location: string): string {
  return location
    .replace(/\/\/[^/]*@/, '//')
    .split(/[?#]/, 1)[0]!
    .slice(0, 200)
}
