import {
  createReceiver,
  createWorker,
  MemoryInbox,
  type Inbox,
  type InboxWorker,
  type Receiver,
  type ReceiverOptions,
  type Registration,
  type TransactionalInbox,
} from '../../src/index.js'
import { equal } from './equal.js'

declare const subscriptions: ReceiverOptions['subscriptions']

interface Client {
  query(text: string): Promise<void>
}
declare const transactional: TransactionalInbox<Client>
declare const some: Inbox

interface Transfer {
  readonly Id: string
  readonly amount: number
}
interface Events {
  'transfers.book-completed': Transfer
}

// The type of the transaction is that of the inbox.
const receiver = createReceiver({ subscriptions, inbox: transactional })
receiver.on(
  'transfers.book-completed',
  async (event, context) => {
    equal<string>()(event.payload.Id)
    equal<Client>()(context.transaction)
    equal<number>()(context.attempt)
    await context.transaction.query('select 1')
  },
  { transactional: true, timeoutMs: 5 },
)
createWorker({ inbox: transactional }).on(
  'transfers.book-completed',
  (_event, { transaction }) => equal<Client>()(transaction),
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

// With declared events the transaction is declared, too.
const typed = createReceiver<Events, Client>({ subscriptions, inbox: transactional })
typed.on(
  'transfers.book-completed',
  (event, { transaction }) => {
    equal<Transfer>()(event.payload)
    equal<Client>()(transaction)
  },
  { transactional: true },
)
// @ts-expect-error this type is not declared
typed.on('transfers.book', () => {}, { transactional: true })
createWorker<Events, Client>({ inbox: transactional }).on(
  'transfers.book-completed',
  (event, { transaction }) => {
    equal<Transfer>()(event.payload)
    equal<Client>()(transaction)
  },
  { transactional: true },
)
// @ts-expect-error the transactions of this inbox are others
createReceiver<Events, { run(): void }>({ subscriptions, inbox: transactional })

// Where it is not declared, or the inbox has no transactions, the option does not compile.
createReceiver<Events>({ subscriptions, inbox: transactional }).on('transfers.book-completed', () => {}, {
  // @ts-expect-error the type of the transaction is not declared
  transactional: true,
})
createReceiver({ subscriptions, inbox: new MemoryInbox() }).on('a.b', () => {}, {
  // @ts-expect-error this inbox has no transactions
  transactional: true,
})
createReceiver({ subscriptions, inbox: some }).on('a.b', () => {}, {
  // @ts-expect-error this inbox may have no transactions
  transactional: true,
})
createReceiver({ subscriptions }).on('a.b', () => {}, {
  // @ts-expect-error there is no inbox
  transactional: true,
})
createWorker({ inbox: new MemoryInbox() }).on('a.b', () => {}, {
  // @ts-expect-error this inbox has no transactions
  transactional: true,
})
// @ts-expect-error a handler of all types runs beside those of one
receiver.onAny(() => {}, { transactional: true })
// @ts-expect-error it is an option of on()
receiver.onUnhandled(() => {}, { transactional: true })

// What takes any receiver or worker takes these.
const anyReceiver: Receiver = receiver
const anyWorker: InboxWorker = createWorker({ inbox: transactional })
const typedReceiver: Receiver = typed
const typedWorker: InboxWorker = createWorker<Events, Client>({ inbox: transactional })
const anyRegistration: Registration = typed
void [anyReceiver, anyWorker, typedReceiver, typedWorker, anyRegistration]
// With a receiver of any events, any type and payload is allowed.
anyReceiver.on('a.b', (event) => event.payload.amount).onAny((event) => event.type)

// Handlers may be registered by a function that both share.
function register(target: Registration<Events, Client>): void {
  target.on('transfers.book-completed', (_event, { transaction }) => equal<Client>()(transaction), {
    transactional: true,
  })
}
register(typed)
register(createWorker<Events, Client>({ inbox: transactional }))
