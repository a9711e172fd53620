import { dirname, resolve } from 'node:path'
import type { Handler } from '../../handlers/handlers.js'
import type { Registration } from '../../handlers/registration.js'
import { CountersignError } from '../../base/errors.js'
import { dependencyTimeoutOption } from '../../callback/authenticator.js'
import { KnownSecrets } from '../../logging/known-secrets.js'
import { loggedError } from '../../logging/logged-error.js'
import type { Logger } from '../../logging/logger.js'
import { invalidOption, isRecord } from '../../base/option-checks.js'
import { Receiver } from '../../receiver/receiver.js'
import { parseReceiverOptions, type ReceiverSettings } from '../../receiver/settings.js'
import { importModule } from './config-file.js'
import type { CommonSettings, Settings } from './settings.js'
import { withOrigin } from './option-origin.js'
import type { ConfiguredStore } from './redis-store.js'
import type { InboxWorker } from '../../worker/create-worker.js'

interface StandaloneReceiver {
  readonly receiver: Receiver
  readonly parsed: ReceiverSettings
  /** The store that the configuration describes. The caller that starts the receiver closes the store. */
  readonly store: ConfiguredStore | undefined
}

/**
 * Creates the receiver of a configuration, with its handlers.
 * @throws CountersignError, with a message that names the flag, the variable or the file
 */
export async function standaloneReceiver(settings: Settings, logger: Logger): Promise<StandaloneReceiver> {
  const { receiver: options, redis } = settings
  const secrets = new KnownSecrets()
  secrets.add([{ secret: settings.log.secrets }])
  const { parsed, store } = await withOrigin(settings.origin, async () => {
    const limitMs = dependencyTimeoutOption('createReceiver', options.dependencyTimeoutMs)
    // Loaded only if it is used, because loading takes most of the start-up time.
    const store = redis && (await import('./redis-store.js')).redisStore(redis, logger, limitMs)
    const inbox = await settings.inbox?.create({ clock: options.clock, logger })
    const all = { ...options, store: store ?? options.store, inbox, logger }
    return { parsed: parseReceiverOptions(all, secrets), store }
  })
  const receiver = new Receiver(parsed)
  await registerHandlers(receiver, settings, secrets)
  return { receiver, parsed, store }
}

/**
 * Registers the handlers of the configuration.
 * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID, and what registering throws
 */
export async function registerHandlers(
  target: Receiver | InboxWorker,
  settings: CommonSettings,
  secrets: KnownSecrets,
): Promise<void> {
  const { file } = settings
  const handlers = await loadHandlers(settings)
  const registry = registryOf(target)
  if (typeof handlers === 'function') {
    try {
      await (handlers as (registry: Registration) => unknown)(registry)
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

/**
 * What a handlers function is given. A worker answers no requests: what listens to outcomes or to callbacks in quarantine has no
 * effect there.
 */
function registryOf(target: Receiver | InboxWorker): Registration {
  if ('onOutcome' in target) return target
  const noListener = () => target
  return Object.assign(target, { onOutcome: noListener, onQuarantined: noListener })
}
