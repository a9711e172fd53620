import { invalidOption } from '../base/option-checks.js'
import { callbackBody } from '../testing/callback-body.js'
import type { DeliverOptions } from './delivery.js'
import type { Fault } from './fault.js'
import { faultyRequests } from './faulty-requests.js'
import { genuine, signedLater, type Plain, type PlannedRequest } from './planned-request.js'
import type { Random } from './random.js'
import type { ServiceSubscription } from './subscription-book.js'

/** The requests that deliver one callback, in order, or all at the same time. */
export interface DeliveryPlan {
  readonly idempotencyKey: string
  /** The body of the callback. A fault may send another one. */
  readonly body: Buffer
  readonly requests: readonly PlannedRequest[]
  readonly atOnce: boolean
  /** The callback without a fault, signed at least `again` whole seconds after the first time. */
  readonly retry: (again: number, fresh: boolean) => PlannedRequest
}

/** @throws CountersignError ERR_OPTION_INVALID; SignatureInputError if the input cannot be signed */
export function planDelivery(
  subscription: ServiceSubscription,
  options: DeliverOptions,
  fault: Fault | undefined,
  random: Random,
  clock: () => number,
): DeliveryPlan {
  const { idempotencyKey } = options
  if (idempotencyKey !== undefined && typeof idempotencyKey !== 'string')
    throw invalidOption(OWNER, 'idempotencyKey', idempotencyKey, 'pass a text, such as a UUID')
  const plain: Plain = {
    subscription,
    idempotencyKey: idempotencyKey ?? random.uuid(),
    body: callbackBody(OWNER, options, () => random.uuid()),
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

const OWNER = 'deliver'
