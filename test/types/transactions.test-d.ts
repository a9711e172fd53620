import {
  createReceiver,
  createWorker,
  type InboxWorker,
  type Receiver,
  type ReceiverOptions,
  type Registration,
} from '../../src/index.js'
import type { PostgresInbox, PostgresTransaction } from '../../src/postgres.js'
import { equal } from './equal.js'

declare const subscriptions: ReceiverOptions['subscriptions']

declare const inbox: PostgresInbox

interface Transfer {
  readonly Id: string
  readonly amount: number
}
interface Events {
  'transfers.book-completed': Transfer
}

const receiver = createReceiver({ subscriptions, inbox })
receiver.on(
  'transfers.book-completed',
  async (event, context) => {
    equal<string>()(event.payload.Id)
    equal<PostgresTransaction>()(context.transaction)
    equal<number>()(context.attempt)
    await context.transaction.query('select 1')
  },
  { transactional: true, timeoutMs: 5 },
)
createWorker({ inbox }).on(
  'transfers.book-completed',
  (_event, { transaction }) => equal<PostgresTransaction>()(transaction),
  { transactional: true },
)

// Without the option there is none.
receiver
  .on('transfers.book-completed', (_event, context) => {
    // @ts-expect-error it is not transactional
    void context.transaction
  })
  .on(
    'transfers.book-completed',
    (_event, context) => {
      // @ts-expect-error it is not transactional
      void context.transaction
    },
    { timeoutMs: 5, transactional: false },
  )

const typed = createReceiver<Events>({ subscriptions, inbox })
typed.on(
  'transfers.book-completed',
  (event, { transaction }) => {
    equal<Transfer>()(event.payload)
    equal<PostgresTransaction>()(transaction)
  },
  { transactional: true },
)
// @ts-expect-error this type is not declared
typed.on('transfers.book', () => {}, { transactional: true })
createWorker<Events>({ inbox }).on(
  'transfers.book-completed',
  (event, { transaction }) => {
    equal<Transfer>()(event.payload)
    equal<PostgresTransaction>()(transaction)
  },
  { transactional: true },
)
// @ts-expect-error a handler of all types runs beside those of one
receiver.onAny(() => {}, { transactional: true })
// @ts-expect-error it is an option of on()
receiver.onUnhandled(() => {}, { transactional: true })

// What takes any receiver or worker takes these.
const anyReceiver: Receiver = receiver
const anyWorker: InboxWorker = createWorker({ inbox })
const typedReceiver: Receiver = typed
const typedWorker: InboxWorker = createWorker<Events>({ inbox })
const anyRegistration: Registration = typed
void [anyReceiver, anyWorker, typedReceiver, typedWorker, anyRegistration]
// With a receiver of any events, any type and payload is allowed.
anyReceiver.on('a.b', (event) => event.payload.amount).onAny((event) => event.type)

// Handlers may be registered by a function that both share.
function register(target: Registration<Events>): void {
  target.on(
    'transfers.book-completed',
    (_event, { transaction }) => equal<PostgresTransaction>()(transaction),
    {
      transactional: true,
    },
  )
}
register(typed)
register(createWorker<Events>({ inbox }))
