import { dirname, resolve } from 'node:path'
import type { Handler, HandlerOptions } from '../../handlers/handlers.js'
import { CountersignError } from '../../base/errors.js'
import type { Handled } from '../../handlers/handler-gaps.js'
import { KnownSecrets } from '../../logging/known-secrets.js'
import { loggedError } from '../../logging/logged-error.js'
import type { Logger } from '../../logging/logger.js'
import { invalidOption } from '../../base/option-checks.js'
import { Receiver } from '../../receiver/receiver.js'
import { parseReceiverOptions, type ReceiverSettings } from '../../receiver/settings.js'
import { importModule } from './config-file.js'
import type { Settings } from './config.js'
import { makeInbox } from './inbox-setting.js'
import { withOrigin } from './option-origin.js'
import { redisStore, type ConfiguredStore } from './redis-store.js'

/** What a handlers function is given: the methods and the event channel of the receiver. It may be taken apart. */
export interface HandlerRegistry {
  on(type: string, handler: Handler, options?: HandlerOptions): HandlerRegistry
  onAny(handler: Handler, options?: HandlerOptions): HandlerRegistry
  onUnhandled(handler: Handler, options?: HandlerOptions): HandlerRegistry
  onError(listener: Parameters<Receiver['onError']>[0]): HandlerRegistry
  onOutcome(listener: Parameters<Receiver['onOutcome']>[0]): HandlerRegistry
  onHandled(listener: Parameters<Receiver['onHandled']>[0]): HandlerRegistry
  onDeadLetter(listener: Parameters<Receiver['onDeadLetter']>[0]): HandlerRegistry
  onQuarantined(listener: Parameters<Receiver['onQuarantined']>[0]): HandlerRegistry
  readonly events: Receiver['events']
}

interface StandaloneReceiver {
  readonly receiver: Receiver
  readonly parsed: ReceiverSettings
  readonly handled: Handled
  /** The store that the configuration describes, which whoever starts the receiver closes. */
  readonly store: ConfiguredStore | undefined
}

/**
 * Creates the receiver of a configuration, with its handlers.
 * @throws CountersignError, with a message that names the flag, the variable or the file
 */
export async function standaloneReceiver(settings: Settings, logger: Logger): Promise<StandaloneReceiver> {
  const { receiver: options, file } = settings
  const secrets = new KnownSecrets()
  secrets.add([{ secret: settings.log.secrets }])
  const store = withOrigin(settings.origin, () => settings.redis && redisStore(settings.redis, logger))
  const parsed = withOrigin(settings.origin, () => {
    const inbox = makeInbox(settings.inbox, options.clock, logger)
    return parseReceiverOptions({ ...options, store: store ?? options.store, inbox, logger }, secrets)
  })
  const receiver = new Receiver(parsed)
  const handlers = await loadHandlers(settings)
  const { registry, handled } = recordingRegistry(receiver)
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
  return { receiver, parsed, handled, store }
}

async function loadHandlers({ handlers, file }: Settings): Promise<object> {
  if (handlers === undefined) return {}
  if (typeof handlers === 'object' && handlers !== null && !Array.isArray(handlers)) return handlers
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

/** The registration methods of the receiver, with a record of what was registered. */
function recordingRegistry(receiver: Receiver): { registry: HandlerRegistry; handled: Handled } {
  const handled = { types: new Set<string>(), any: false, unhandled: false }
  const hook =
    <Listener>(register: (listener: Listener) => unknown) =>
    (listener: Listener): HandlerRegistry => {
      register(listener)
      return registry
    }
  const registry: HandlerRegistry = {
    on(type, handler, options) {
      receiver.on(type, handler, options)
      handled.types.add(type)
      return registry
    },
    onAny(handler, options) {
      receiver.onAny(handler, options)
      handled.any = true
      return registry
    },
    onUnhandled(handler, options) {
      receiver.onUnhandled(handler, options)
      handled.unhandled = true
      return registry
    },
    onError: hook((listener) => receiver.onError(listener)),
    onOutcome: hook((listener) => receiver.onOutcome(listener)),
    onHandled: hook((listener) => receiver.onHandled(listener)),
    onDeadLetter: hook((listener) => receiver.onDeadLetter(listener)),
    onQuarantined: hook((listener) => receiver.onQuarantined(listener)),
    events: { subscribe: (name, listener) => receiver.events.subscribe(name, listener) },
  }
  return { registry, handled }
}
