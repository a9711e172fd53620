import {
  createReceiver,
  defineConfig,
  MemoryInbox,
  type CallbackEvent,
  type Config,
  type HandlersModule,
} from '../../src/index.js'
import type { HandlerContext, StandardSchema } from '../../src/index.js'
import { equal } from './equal.js'

const subscriptions = [
  {
    eventTypeName: 'transfers.book-completed',
    callbackUrl: 'https://partner.example.com/hooks/transfers',
    secret: { env: 'CALLBACK_SECRET' },
  },
]

interface Transfer {
  readonly Id: string
  readonly Amount: number
}
type Events = { readonly 'transfers.book-completed': Transfer }
declare const transfer: StandardSchema<Transfer>

// Handlers need no types.
defineConfig({
  subscriptions,
  port: 3000,
  handlers: {
    'transfers.book-completed': async (event, context) => {
      equal<string>()(event.payload.Id)
      const handled: CallbackEvent = event
      void handled
      equal<HandlerContext>()(context)
    },
  },
})
defineConfig({
  subscriptions,
  handlers: ({ on, onDeadLetter, onOutcome, events }) => {
    on('transfers.book-completed', (event) => equal<string>()(event.payload.Id))
    onDeadLetter(({ entryId }) => void entryId)
    onOutcome(({ code }) => void code)
    events.on('failed', ({ attempt }) => equal<number>()(attempt))
  },
})

// With schemas, or with declared events, payloads have their types.
defineConfig({
  subscriptions,
  schemas: { 'transfers.book-completed': transfer },
  handlers: { 'transfers.book-completed': (event) => equal<number>()(event.payload.Amount) },
})
defineConfig({
  subscriptions,
  schemas: { 'transfers.book-completed': transfer },
  handlers: ({ on }) => on('transfers.book-completed', (event) => equal<number>()(event.payload.Amount)),
})
defineConfig<Events>({
  subscriptions,
  handlers: {
    'transfers.book-completed': (event) => equal<number>()(event.payload.Amount),
    // @ts-expect-error no such event is declared
    'transfers.book-complete': () => {},
  },
})

const file: HandlersModule = { 'transfers.book-completed': (event) => equal<string>()(event.payload.Id) }
const typed: HandlersModule<Events> = ({ on }) =>
  on('transfers.book-completed', ({ payload }) => equal<number>()(payload.Amount))
defineConfig({ subscriptions, handlers: file })
defineConfig<Events>({ subscriptions, handlers: file })
defineConfig<Events>({ subscriptions, handlers: typed })

// A test passes a receiver.
if (typeof typed === 'function') typed(createReceiver<Events>({ subscriptions: [] }))

// Every form of a secret and of an inbox.
const text = 'a-secret-of-the-configuration'
const all: Config = defineConfig({
  subscriptions: [
    {
      ...subscriptions[0]!,
      secret: [text, { env: 'NEW_SECRET' }, { file: 'secret', followSymbolicLinks: true }],
    },
    { ...subscriptions[0]!, secret: process.env['CALLBACK_SECRET'] },
  ],
  inbox: { postgres: { connectionString: { env: 'DATABASE_URL' }, maxConnections: 5 } },
  admin: {
    port: 9464,
    metricsToken: { file: 'token' },
    console: { users: [{ name: 'ann', password: { env: 'ANN' }, role: 'decide' }] },
  },
  openTelemetry: { trustTraceparent: true },
  logLevel: 'debug',
})
for (const inbox of ['callbacks.db', false, { file: 'a.db', retentionMs: 1 }, new MemoryInbox()] as const)
  defineConfig({ ...all, inbox })
defineConfig({ subscriptions: async ({ eventType }) => [{ ...subscriptions[0]!, secret: eventType }] })
defineConfig({ subscriptions, inbox: false, store: { redis: { url: { env: 'REDIS_URL' } } } })

// @ts-expect-error a misspelt option
defineConfig({ subscriptions, shutdownDelay: 1 })
// @ts-expect-error the log is that of the program
defineConfig({ subscriptions, logger: console })
// @ts-expect-error the secret is missing
defineConfig({ subscriptions: [{ eventTypeName: 'a.b', callbackUrl: 'https://a.example/' }] })
