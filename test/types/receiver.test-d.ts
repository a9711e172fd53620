import pino from 'pino'
import * as v from 'valibot'
import { z } from 'zod'
import {
  createReceiver,
  type CallbackPayload,
  type HandlerLogger,
  type IdempotencyStore,
  type Logger,
  type Outcome,
  type OutcomeCode,
  type OutcomeName,
  type ReceiverOptions,
} from '../../src/index.js'
import { equal } from './equal.js'

declare const subscriptions: ReceiverOptions['subscriptions']

// Without a map every type is allowed, as the full list is not published.
createReceiver({ subscriptions })
  .on('transfers.book-completed', (event, context) => {
    equal<CallbackPayload>()(event.payload)
    equal<string>()(event.payload.Id)
    equal<unknown>()(event.payload['amount'])
    equal<Buffer>()(event.rawBody)
    equal<number>()(context.attempt)
    equal<AbortSignal>()(context.signal)
    context.logger.info('booked')
    context.logger.info({ id: 1 }, 'booked')
    context.logger.error(new Error('x'), 'not booked')
    context.logger.error({ err: new Error('x') })
    context.logger.warn('transfer %s', event.idempotencyKey)
    void (context.logger satisfies Logger)
    // @ts-expect-error a line has fields or a text
    context.logger.info()
    // @ts-expect-error an event does not carry the secret
    void event.subscription.secret
    // @ts-expect-error an event is what was signed
    event.payload = { Id: '1' }
  })
  .onAny((event) => equal<string>()(event.type))

interface Transfer {
  readonly Id: string
  readonly amount: number
}
interface Account {
  readonly Id: string
  readonly closedAt: string
}
interface Events {
  'transfers.book-completed': Transfer
  'accounts.closed': Account
}

const typed = createReceiver<Events>({ subscriptions })
typed.on('transfers.book-completed', (event) => {
  equal<Transfer>()(event.payload)
  equal<'transfers.book-completed'>()(event.type)
})
// @ts-expect-error a map has been declared, and this type is not in it
typed.on('transfers.book-complete', () => {})
// @ts-expect-error the payload is that of the event type
typed.on('accounts.closed', ({ payload }: { payload: Transfer }) => payload)
typed.onAny((event) => {
  if (event.type === 'accounts.closed') equal<Account>()(event.payload)
  else equal<Transfer>()(event.payload)
})
typed.onUnhandled((event) => equal<CallbackPayload>()(event.payload))

// A handler may be async, and is given options.
typed.on('accounts.closed', async () => {}, { timeoutMs: 5 })
// @ts-expect-error handlers have no such option
typed.on('accounts.closed', () => {}, { timeout: 5 })

const Transfer = z.object({ Id: z.uuid(), amount: z.number() })
createReceiver<{ 'transfers.book-completed': z.infer<typeof Transfer> }>({
  subscriptions,
  schemas: { 'transfers.book-completed': Transfer },
})
createReceiver<Events>({
  subscriptions,
  schemas: { 'accounts.closed': v.object({ Id: v.string(), closedAt: v.string() }) },
})
createReceiver<Events>({
  subscriptions,
  // @ts-expect-error the schema makes something else of the payload than the map declares
  schemas: { 'accounts.closed': v.object({ Id: v.string() }) },
})
// @ts-expect-error no schema for a type that the map does not know
createReceiver<Events>({ subscriptions, schemas: { 'a.b': Transfer } })

// Schemas alone declare the payloads, as what they make of them.
const inferred = createReceiver({
  subscriptions,
  orderBy: (event) => event.payload.Id,
  schemas: {
    'transfers.book-completed': z.object({ Id: z.guid(), amount: z.number().transform(String) }),
    'accounts.closed': v.object({ Id: v.string(), closedAt: v.string() }),
  },
})
inferred.on('transfers.book-completed', ({ payload }) => equal<{ Id: string; amount: string }>()(payload))
inferred.on('accounts.closed', ({ payload }) => equal<{ Id: string; closedAt: string }>()(payload))
// @ts-expect-error no schema declares this type: declare it in a type argument
inferred.on('accounts.opened', () => {})

// An environment variable may be named as it is: that it is set is checked at the start.
createReceiver({
  subscriptions: [{ eventTypeName: 'a.b', callbackUrl: 'https://a.example/', secret: process.env['SECRET'] }],
})
createReceiver({
  subscriptions: [{ eventTypeName: 'a.b', callbackUrl: 'https://a.example/', secret: ['a', 'b'] as const }],
})
createReceiver({ subscriptions: async ({ eventType, path }) => (eventType && path ? [] : []) })
createReceiver({ subscriptions, logger: false })
createReceiver({ subscriptions, logger: console, clock: undefined, maxBodyBytes: undefined })
// @ts-expect-error subscriptions are what a receiver cannot do without
createReceiver({})
// @ts-expect-error there is no such option
createReceiver({ subscriptions, tolerance: 5 })
// @ts-expect-error durations are numbers
createReceiver({ subscriptions, toleranceMs: '5s' })
// @ts-expect-error the field is `secret`, as what is configured is the text and not its Base64
createReceiver({ subscriptions: [{ eventTypeName: 'a', callbackUrl: 'https://a/', secretText: 'x' }] })
// @ts-expect-error a store says how long it remembers
createReceiver({ subscriptions, store: { claim: async () => ({ state: 'completed' }) } })

createReceiver({ subscriptions }).onOutcome((outcome) => {
  equal<Outcome>()(outcome)
  equal<OutcomeCode>()(outcome.code)
  equal<OutcomeName>()(outcome.name)
  // @ts-expect-error only where the signature matched
  void outcome.callback.type
})

declare const store: IdempotencyStore
void Promise.resolve(store.claim({ key: 'k', bodyHash: 'b', signature: 's', leaseMs: 1 })).then((result) => {
  // @ts-expect-error only a claim that was granted can be completed
  void result.claim
  if (result.state === 'claimed') equal<boolean | Promise<boolean>>()(result.claim.complete())
})

// A test of a handler gives it a logger of its own.
void (console satisfies HandlerLogger)
void (pino() satisfies HandlerLogger)
