import { parseHttpDate } from '../signature/index.js'
import type { Authenticity } from './fault.js'
import type { SimulatorSettings } from './options.js'
import type { PlannedRequest } from './planned-request.js'

/**
 * What a request is worth if it is sent now. One that is signed rightly is suspect outside the receiver's tolerance, whether
 * a fault, an explicit timestamp or a late retry is the reason; within it a receiver has to handle it, however late it is.
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
