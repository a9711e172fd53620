import { dirname, resolve } from 'node:path'
import type {
  EventMap,
  Handler,
  HandlerOptions,
  TransactionalHandlerOptions,
} from '../../handlers/handlers.js'
import type { Registration } from '../../handlers/registration.js'
import { CountersignError } from '../../base/errors.js'
import { dependencyTimeoutOption } from '../../callback/authenticator.js'
import type { Handled } from '../../handlers/handler-gaps.js'
import { KnownSecrets } from '../../logging/known-secrets.js'
import { loggedError } from '../../logging/logged-error.js'
import type { Logger } from '../../logging/logger.js'
import { invalidOption, isRecord } from '../../base/option-checks.js'
import { Receiver } from '../../receiver/receiver.js'
import { parseReceiverOptions, type ReceiverSettings } from '../../receiver/settings.js'
import { importModule } from './config-file.js'
import type { CommonSettings, Settings } from './settings.js'
import { loadInboxMaker } from './inbox-setting.js'
import { withOrigin } from './option-origin.js'
import type { ConfiguredStore } from './redis-store.js'
import type { InboxWorker } from '../../worker/create-worker.js'

/**
 * What a handlers function is given: the methods and the event channel of the receiver or the worker. It may be taken apart. In a
 * worker `onOutcome` and `onQuarantined` have no effect: a worker answers no requests.
 */
interface HandlerRegistry {
  on(type: string, handler: Handler, options?: HandlerOptions | TransactionalHandlerOptions): HandlerRegistry
  onAny(handler: Handler, options?: HandlerOptions): HandlerRegistry
  onUnhandled(handler: Handler, options?: HandlerOptions): HandlerRegistry
  onError(listener: Parameters<Receiver['onError']>[0]): HandlerRegistry
  onOutcome(listener: Parameters<Receiver['onOutcome']>[0]): HandlerRegistry
  onHandled(listener: Parameters<Receiver['onHandled']>[0]): HandlerRegistry
  onDeadLetter(listener: Parameters<Receiver['onDeadLetter']>[0]): HandlerRegistry
  onFailed(listener: Parameters<Receiver['onFailed']>[0]): HandlerRegistry
  onQuarantined(listener: Parameters<Receiver['onQuarantined']>[0]): HandlerRegistry
  readonly events: Receiver['events']
}

interface RegisteredHandlers extends Handled {
  /** Whether one of them is transactional. */
  readonly transactional: boolean
}

interface StandaloneReceiver {
  readonly receiver: Receiver
  readonly parsed: ReceiverSettings
  readonly handled: RegisteredHandlers
  /** The store that the configuration describes. The caller that starts the receiver closes the store. */
  readonly store: ConfiguredStore | undefined
}

/**
 * Creates the receiver of a configuration, with its handlers.
 * @throws CountersignError, with a message that names the flag, the variable or the file
 */
export async function standaloneReceiver(settings: Settings, logger: Logger): Promise<StandaloneReceiver> {
  const { receiver: options, inbox: setting } = settings
  const secrets = new KnownSecrets()
  secrets.add([{ secret: settings.log.secrets }])
  const { redis } = settings
  // Loaded only if it is used, because loading takes most of the start-up time. The same holds for the inbox.
  const { redisStore } = redis ? await import('./redis-store.js') : {}
  const makeInbox = setting.kind === 'none' ? undefined : await loadInboxMaker(setting)
  const store = withOrigin(settings.origin, () => {
    const limitMs = dependencyTimeoutOption('createReceiver', options.dependencyTimeoutMs)
    return redis && redisStore?.(redis, logger, limitMs)
  })
  const parsed = withOrigin(settings.origin, () => {
    const inbox = makeInbox?.(options.clock, logger)
    return parseReceiverOptions({ ...options, store: store ?? options.store, inbox, logger }, secrets)
  })
  const receiver = new Receiver(parsed)
  return { receiver, parsed, handled: await registerHandlers(receiver, settings, secrets), store }
}

/**
 * Registers the handlers of the configuration.
 * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID, and what registering throws
 */
export async function registerHandlers(
  target: Receiver | InboxWorker,
  settings: CommonSettings,
  secrets: KnownSecrets,
): Promise<RegisteredHandlers> {
  const { file } = settings
  const handlers = await loadHandlers(settings)
  const { registry, handled } = recordingRegistry(target)
  if (typeof handlers === 'function') {
    try {
      await (handlers as (registry: HandlerRegistry) => unknown)(registry)
    } catch (error) {
      const message = `${file.name}: the handlers function threw: ${loggedError(error, secrets).message}`
      throw new CountersignError('ERR_CONFIG_INVALID', message, { cause: error })
    }
  } else {
    for (const [type, handler] of Object.entries(handlers)) {
      if (typeof handler !== 'function') {
        const name = { option: 'handlers', part: `handlers[${JSON.stringify(type)}]` }
        throw invalidOption(file.name, name, handler, 'pass a function')
      }
      registry.on(type, handler as Handler)
    }
  }
  return handled
}

async function loadHandlers({ handlers, file }: CommonSettings): Promise<object> {
  if (handlers === undefined) return {}
  if (isRecord(handlers)) return handlers
  if (typeof handlers === 'function') return handlers
  if (typeof handlers !== 'string') {
    const cure =
      'pass an object of functions by event type, a function, or the path of a module that exports one of them'
    throw invalidOption(file.name, 'handlers', handlers, cure)
  }
  const module = await importModule(
    `${file.name}: handlers module ${handlers}`,
    resolve(dirname(file.path), handlers),
  )
  const exported = module['default'] ?? module['handlers']
  if (typeof exported === 'function' || (typeof exported === 'object' && exported !== null)) return exported
  const message =
    `${file.name}: the handlers module ${handlers} has to export an object of functions by event type, or a function, ` +
    'as default or as "handlers".'
  throw new CountersignError('ERR_CONFIG_INVALID', message)
}

/** The registering methods of a receiver or a worker, and a record of what was registered. */
function recordingRegistry(target: Receiver | InboxWorker): {
  registry: HandlerRegistry
  handled: RegisteredHandlers
} {
  const handled = { types: new Set<string>(), any: false, unhandled: false, transactional: false }
  const hook =
    <Listener>(register: (listener: Listener) => unknown) =>
    (listener: Listener): HandlerRegistry => {
      register(listener)
      return registry
    }
  const registry: HandlerRegistry = {
    on(type, handler, options) {
      // Whether the inbox has transactions is only known at run time.
      ;(target as Registration<EventMap>).on(type, handler, options as TransactionalHandlerOptions)
      handled.types.add(type)
      if (options?.transactional) handled.transactional = true
      return registry
    },
    onAny(handler, options) {
      target.onAny(handler, options)
      handled.any = true
      return registry
    },
    onUnhandled(handler, options) {
      target.onUnhandled(handler, options)
      handled.unhandled = true
      return registry
    },
    onError: hook((listener) => target.onError(listener)),
    onOutcome: hook((listener) => 'onOutcome' in target && target.onOutcome(listener)),
    onHandled: hook((listener) => target.onHandled(listener)),
    onDeadLetter: hook((listener) => target.onDeadLetter(listener)),
    onFailed: hook((listener) => target.onFailed(listener)),
    onQuarantined: hook((listener) => 'onQuarantined' in target && target.onQuarantined(listener)),
    events: {
      on: (name, listener) => target.events.on(name, listener),
      around: (name, hook) => target.events.around(name, hook),
    },
  }
  return { registry, handled }
}
