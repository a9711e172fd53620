import {
  createReceiver,
  type CallbackEvent,
  type EventMap,
  type Handler,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
} from '../../src/index.js'
import { sendRawRequest, type RawRequestOptions, type RawResponse } from '../../src/testing/raw-request.js'
import {
  signedCallback,
  type SignedCallback,
  type SignedCallbackOptions,
} from '../../src/testing/signed-callback.js'
import { collectedLog, type CollectedLog } from './collected-log.js'
import { host, type HostName } from './hosts.js'
import { subscription } from './subscription.js'
import { LIMIT_MS } from './until.js'

export { SECRET, subscription } from './subscription.js'

/** A well-formed Authorization that nobody's secret gives. */
export const FORGED = `HMAC-SHA256 Signature=${'A'.repeat(43)}=`

export interface RunningReceiver {
  readonly receiver: Receiver
  readonly port: number
  readonly log: CollectedLog
  /** The events that the handler was given, in order. */
  readonly handled: CallbackEvent[]
  /** What became of each callback, in order. */
  readonly outcomes: Outcome[]
  send(
    request: SignedCallback | Uint8Array | readonly Uint8Array[],
    options?: RawRequestOptions,
  ): Promise<RawResponse>
}

export interface RunOptions extends Partial<ReceiverOptions> {
  readonly in?: HostName
  /** `null` registers none. @default one that keeps the event and returns */
  readonly handler?: Handler | null
}

/** A receiver that listens until the test is over, with all that is known of what it does. */
export async function runReceiver({
  in: hostName = 'http.createServer',
  handler,
  ...options
}: RunOptions = {}): Promise<RunningReceiver> {
  const log = collectedLog()
  const handled: CallbackEvent[] = []
  const outcomes: Outcome[] = []
  const receiver = createReceiver<EventMap>({ subscriptions: [subscription], logger: log, ...options })
  receiver.onOutcome((outcome) => outcomes.push(outcome))
  if (handler !== null) {
    receiver.on(subscription.eventTypeName, (event, context) => {
      handled.push(event)
      return handler?.(event, context)
    })
  }
  const port = await host(receiver, hostName, options.bodyTimeoutMs)
  return {
    receiver,
    port,
    log,
    handled,
    outcomes,
    send: (request, sendOptions) =>
      sendRawRequest(
        'toHttp' in request ? request.toHttp() : request,
        { port },
        { timeoutMs: LIMIT_MS, ...sendOptions },
      ),
  }
}

/** A genuine callback of the subscription, unless it is tampered with. */
export function genuine(options: Partial<SignedCallbackOptions> = {}): SignedCallback {
  return signedCallback({ subscription, ...options })
}
