import { createServer } from 'node:http'
import {
  createReceiver,
  CountersignError,
  type CallbackEvent,
  type IdempotencyStore,
  type Receiver,
} from 'countersign'
import { handleForwarded } from 'countersign/bullmq'
import { createClient, ClientError, type ServiceResponse } from 'countersign/client'
import { verifyCallback } from 'countersign/signature'
import { startServiceSimulator, type Delivery } from 'countersign/simulator'
import { signedCallback } from 'countersign/testing'

interface Events {
  'transfers.book-completed': { Id: string; Amount: number }
}

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'the secret text of a consumer',
}
declare const store: IdempotencyStore
export const receiver = createReceiver<Events>({
  subscriptions: [subscription],
  store,
  toleranceMs: undefined,
})

receiver.on('transfers.book-completed', async (event, { signal, attempt, logger }) => {
  const amount: number = event.payload.Amount
  if (!signal.aborted) logger.info({ amount, attempt }, 'settled')
})
// @ts-expect-error no such event type was declared
receiver.on('transfers.rejected', () => {})
receiver.onError((error) => {
  if (error instanceof CountersignError) console.error(error.code)
})

// A function for any receiver takes one with declared events.
const alarm = (any: Receiver): unknown => any.onDeadLetter(({ reason }) => console.error(reason))
alarm(receiver)

createServer(receiver.requestListener()).listen(3000)

export const processor = handleForwarded<Events>({
  'transfers.book-completed': (event) => console.log(event.payload.Amount),
})

const { headers, body } = signedCallback({ subscription })
const verdict = verifyCallback({
  ...subscription,
  timestamp: headers['Authorization-Timestamp'],
  authorization: headers['Authorization'],
  body,
})
export const signedAt: Date | string = verdict.valid ? verdict.signedAt : verdict.code
export const idOf = (event: CallbackEvent): string => event.payload.Id

export async function rehearse(): Promise<{ response: ServiceResponse; delivery: Delivery }> {
  const simulator = await startServiceSimulator({ deliverTo: 'http://127.0.0.1:3000' })
  const client = createClient({ baseUrl: simulator.baseUrl, fetch, ...simulator.credentials })
  try {
    const response = await client.subscriptions.create({ ...subscription, description: 'a rehearsal' })
    // @ts-expect-error nothing is known about what the service answers
    void response.body.id
    return { response, delivery: await simulator.deliver({ fault: 'twins' }) }
  } catch (error) {
    throw error instanceof ClientError ? new Error(error.code) : error
  } finally {
    await client.close()
    await simulator.close()
  }
}
