import type { CallbackEvent, Subscription } from '../callback/callback.js'
import type { Subscriptions } from '../callback/subscriptions.js'
import type { ConsoleUserOptions } from '../console/sign-in/console-users.js'
import type { StandaloneConsoleOptions } from '../console/sign-in/standalone-console-options.js'
import type { EventMap, HandlerContext } from '../handlers/handlers.js'
import type { Registration } from '../handlers/registration.js'
import type { IdempotencyStore } from '../idempotency/store.js'
import type { Inbox } from '../inbox/inbox.js'
import type { RetentionOptions } from '../inbox/retention.js'
import type { Receiver } from '../receiver/receiver.js'
import type { ReceiverOptions } from '../receiver/settings.js'
import type { AdminServerOptions } from './admin-server.js'
import type { HealthServerOptions } from './health-server.js'
import type { ReceiverServerOptions } from './server.js'

/**
 * The configuration of `countersign serve` and `countersign work`, as its file exports it by default. It has the options
 * of `createReceiver` but the logger.
 */
export interface Config<Events extends object = EventMap>
  extends
    Omit<ReceiverOptions<Events>, 'subscriptions' | 'inbox' | 'store' | 'logger'>,
    ReceiverServerOptions,
    HealthServerOptions {
  /** As for `createReceiver`. A secret of a list may also name the variable or the file that has it. */
  readonly subscriptions: readonly ConfiguredSubscription[] | Exclude<Subscriptions, readonly Subscription[]>
  /** The handlers, or the path of a module that exports them as default, from the folder of the configuration. @default none */
  readonly handlers?: string | HandlersModule<NoInfer<Events>> | undefined
  /**
   * A file, a connection string of PostgreSQL, or an inbox. `false`: handlers run before the answer.
   * @default the file callbacks.db in the folder of the configuration; false with a `store`
   */
  readonly inbox?:
    string | false | Inbox | InboxFileOptions | { readonly postgres: InboxDatabaseOptions } | undefined
  /** Remembers handled callbacks if there is no inbox. @default the memory of the process */
  readonly store?: IdempotencyStore | { readonly redis: RedisOptions } | undefined
  /** `false`: the process only stores callbacks, and `countersign work` handles them. @default true */
  readonly worker?: boolean | undefined
  /** Serves metrics and the web console on an address of its own. @default none */
  readonly admin?: AdminOptions | undefined
  /** `true`, or the options of `openTelemetry` of countersign/opentelemetry. @default false */
  readonly openTelemetry?: boolean | object | undefined
  /** @default 'info' */
  readonly logLevel?: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent' | undefined
  /** @default 'readable' on a terminal, otherwise 'json' */
  readonly logFormat?: 'json' | 'readable' | undefined
}

/** The text itself, the variable that has it, or the file, whose name starts from the folder of the configuration. */
type Secret =
  string | { readonly env: string } | { readonly file: string; readonly followSymbolicLinks?: boolean }

interface ConfiguredSubscription extends Omit<Subscription, 'secret'> {
  /** One, or a list while a secret is being replaced. Not the Base64 that was sent as `secretText`. */
  readonly secret: Secret | readonly Secret[] | undefined
}

interface InboxFileOptions extends RetentionOptions {
  /** @default 'callbacks.db' */
  readonly file?: string | undefined
  /** As for `SqliteInbox`. @default 4_000 */
  readonly busyTimeoutMs?: number | undefined
}

/** The options of `PostgresInbox` but the pool. */
interface InboxDatabaseOptions extends RetentionOptions {
  readonly connectionString: Secret
  readonly schema?: string | undefined
  readonly maxConnections?: number | undefined
  readonly busyTimeoutMs?: number | undefined
}

/** The options of `RedisIdempotencyStore` but the client. */
interface RedisOptions {
  readonly url: Secret
  readonly prefix?: string | undefined
  readonly retentionMs?: number | undefined
}

interface AdminOptions extends Omit<AdminServerOptions, 'metricsToken' | 'console'> {
  readonly metricsToken?: Secret | undefined
  readonly console?: ConsoleOptions | undefined
}

interface ConsoleOptions extends Omit<StandaloneConsoleOptions, 'users'> {
  readonly users?:
    readonly (Omit<ConsoleUserOptions, 'password'> & { readonly password: Secret })[] | undefined
}

/**
 * What a handlers file exports: a function for each event type, or a function that registers handlers and listeners with the methods
 * of a receiver. In `countersign work`, `onOutcome` and `onQuarantined` have no effect, because a worker answers no requests.
 *
 * @example
 *   const handlers: HandlersModule = {
 *     'transfers.book-completed': async (event) => settleTransfer(event.payload.Id),
 *   }
 *   export default handlers
 */
export type HandlersModule<Events extends object = EventMap> =
  | {
      readonly [Type in keyof Events & string]?:
        HandlerOf<CallbackEvent<Type, Events[Type]>>['handle'] | undefined
    }
  | HandlersFunction<Events>['register']

/** Methods, because TypeScript compares their parameters in both directions: a file may declare its events itself. */
interface HandlerOf<Event> {
  handle(event: Event, context: HandlerContext): unknown
}

interface HandlersFunction<Events extends object> {
  register(methods: Registration<Events> & Pick<Receiver<Events>, 'onOutcome' | 'onQuarantined'>): unknown
}

/** Returns the configuration as it is. The compiler then finds wrong options, and handlers need no types. */
export function defineConfig<Events extends object = EventMap>(config: Config<Events>): Config<Events> {
  return config
}
