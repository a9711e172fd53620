import { randomBytes } from 'node:crypto'
import { wrongOption } from '../base/option-checks.js'
import { FAULT_DEFAULTS, type Fault } from './fault.js'
import {
  forged,
  genuine,
  sign,
  signedLater,
  suspect,
  whole,
  withBody,
  withFlippedBit,
  type Plain,
  type PlannedRequest,
} from './planned-request.js'
import type { Random } from './random.js'

const NEEDS_BODY: ReadonlySet<Fault['kind']> = new Set(['tampered', 'truncated', 'slow', 'cut-in-body'])

/** The requests that are sent instead of the plain callback. @throws CountersignError ERR_OPTION_INVALID */
export function faultyRequests(
  plain: Plain,
  fault: Fault,
  random: Random,
  clock: () => number,
): PlannedRequest[] {
  const { subscription, body } = plain
  if (body.length === 0 && NEEDS_BODY.has(fault.kind)) {
    const problem = `fault ${fault.kind}: an empty body has no byte to change or to delay: give a body.`
    throw wrongOption('deliver', 'fault', problem)
  }
  const first = genuine(plain)
  const times = (count = 2) => Array.from({ length: count })
  switch (fault.kind) {
    case 'repeat':
      return times(fault.times).map(() => first)
    case 'repeat-signed-anew':
      return times(fault.times).map((_, index) =>
        genuine(index === 0 ? plain : signedLater(plain, index, clock)),
      )
    case 'twins':
      return times(fault.count).map(() => first)
    case 'late':
      return [genuine({ ...plain, timestamp: new Date(clock() - (fault.byMs ?? FAULT_DEFAULTS.lateByMs)) })]
    case 'early':
      return [genuine({ ...plain, timestamp: new Date(clock() + (fault.byMs ?? FAULT_DEFAULTS.earlyByMs)) })]
    case 'wrong-secret':
      return [forged(sign(plain, { secret: randomBytes(32).toString('base64url') }))]
    case 'unsigned':
      return [forged(sign(plain, { headers: { Authorization: null } }))]
    case 'tampered':
      return [forged(withBody(plain, withFlippedBit(body)))]
    case 'truncated':
      return [forged(withBody(plain, body.subarray(0, body.length >> 1)))]
    case 'previous-secret': {
      if (subscription.previousSecret === undefined)
        throw wrongOption(
          'deliver',
          'fault',
          'fault previous-secret: there is no previous secret: call rotateSecret() first.',
        )
      return [whole(sign(plain, { secret: subscription.previousSecret }), 'genuine')]
    }
    case 'next-secret':
      return [whole(sign(plain, { secret: fault.secret }), 'genuine')]
    case 'rewritten-key':
      return [first, suspect(sign(plain, { headers: { 'X-Idempotency-Key': random.uuid() } }))]
    case 'rewritten-type':
      return [
        suspect(
          sign(plain, { headers: { 'X-Event-Type': fault.eventType ?? FAULT_DEFAULTS.rewrittenType } }),
        ),
      ]
    case 'other-body':
      return [first, suspect(sign({ ...plain, body: Buffer.from(JSON.stringify({ Id: random.uuid() })) }))]
    case 'not-json':
      return [suspect(sign({ ...plain, body: Buffer.from(`Id=${random.uuid()}`) }))]
    case 'oversize':
      return [
        {
          ...genuine({ ...plain, body: padded(random, fault.bytes ?? 1_048_577) }),
          wire: { how: 'chunked' },
        },
      ]
    case 'slow':
      return [{ ...first, wire: { how: 'trickled', overMs: fault.overMs ?? 1_000 } }]
    case 'cut-before-answer':
    case 'cut-in-body':
      return [{ ...first, wire: { how: fault.kind } }]
  }
}

function padded(random: Random, bytes: number): Buffer {
  const frame = JSON.stringify({ Id: random.uuid(), padding: '' })
  const padding = 'x'.repeat(Math.max(0, bytes - frame.length))
  return Buffer.from(frame.replace('""', `"${padding}"`))
}
