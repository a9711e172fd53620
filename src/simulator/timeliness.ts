import { parseHttpDate } from '../signature/timestamp.js'
import type { Authenticity } from './fault.js'
import type { SimulatorSettings } from './settings.js'
import type { PlannedRequest } from './planned-request.js'

/**
 * How a request has to be classified if it is sent now. A valid signature is suspect outside the tolerance of the
 * receiver, whether a fault, an explicit timestamp or a late retry is the cause. Within the tolerance a receiver
 * has to handle it.
 */
export function authenticityNow(
  { authenticity, callback }: PlannedRequest,
  { clock, toleranceMs, futureToleranceMs }: SimulatorSettings,
): Authenticity {
  if (authenticity !== 'genuine') return authenticity
  const signedAtMs = parseHttpDate(callback.headers['Authorization-Timestamp'] ?? '')
  const ageMs = signedAtMs === undefined ? Number.NaN : clock() - signedAtMs
  return ageMs <= toleranceMs && -ageMs <= futureToleranceMs ? 'genuine' : 'suspect'
}
