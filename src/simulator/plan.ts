import { wrongOption } from '../base/option-checks.js'
import type { DeliverOptions } from './delivery.js'
import type { Fault } from './fault.js'
import { faultyRequests } from './faulty-requests.js'
import { genuine, signedLater, type Plain, type PlannedRequest } from './planned-request.js'
import type { Random } from './random.js'
import type { ServiceSubscription } from './subscription-book.js'

/** The requests by which one callback is delivered, in their order, or all at once. */
export interface DeliveryPlan {
  readonly idempotencyKey: string
  /** The callback's own; a fault may put another one on the wire. */
  readonly body: Buffer
  readonly requests: readonly PlannedRequest[]
  readonly atOnce: boolean
  /** The callback without a fault, signed `again` whole seconds after the first time at least. */
  readonly retry: (again: number, fresh: boolean) => PlannedRequest
}

/** @throws CountersignError ERR_OPTION_INVALID; SignatureInputError for what cannot be signed */
export function planDelivery(
  subscription: ServiceSubscription,
  options: DeliverOptions,
  fault: Fault | undefined,
  random: Random,
  clock: () => number,
): DeliveryPlan {
  const plain: Plain = {
    subscription,
    idempotencyKey: options.idempotencyKey ?? random.uuid(),
    // The service shows an Id, and nothing more (SERVICE 2.5).
    body: bodyOf(options, random),
    timestamp: options.timestamp ?? new Date(clock()),
  }
  const requests = fault ? faultyRequests(plain, fault, random, clock) : [genuine(plain)]
  return {
    idempotencyKey: plain.idempotencyKey,
    body: plain.body,
    requests,
    atOnce: fault?.kind === 'twins',
    retry: (again, fresh) => genuine(fresh ? signedLater(plain, again, clock) : plain),
  }
}

function bodyOf({ body, payload }: DeliverOptions, random: Random): Buffer {
  if (body !== undefined && payload !== undefined)
    throw wrongOption('deliver', 'payload', 'payload and body are both given: pass either payload or body.')
  if (body !== undefined) return Buffer.from(body as string)
  const json: string | undefined = JSON.stringify(payload === undefined ? { Id: random.uuid() } : payload)
  if (json !== undefined) return Buffer.from(json)
  const problem = `payload of type ${typeof payload} has no JSON form: pass a value that JSON.stringify takes.`
  throw wrongOption('deliver', 'payload', problem)
}
