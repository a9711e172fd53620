import { CountersignError } from '../../base/errors.js'
import { HANDLERS } from '../../handlers/registration.js'
import { checkRetention, toleranceOptions } from '../../callback/tolerance.js'
import { KnownSecrets } from '../../logging/known-secrets.js'
import type { Logger } from '../../logging/logger.js'
import { InboxWorker } from '../../worker/create-worker.js'
import { parseWorkerOptions, type WorkerSettings } from '../../worker/worker-options.js'
import type { WorkSettings } from './settings.js'
import { withOrigin } from './option-origin.js'
import { registerHandlers } from './standalone-receiver.js'

interface StandaloneWorker {
  readonly worker: InboxWorker
  readonly parsed: WorkerSettings
}

/**
 * The worker of a configuration, with its handlers.
 * @throws CountersignError, with a message that names the flag, the variable or the file.
 */
export async function standaloneWorker(settings: WorkSettings, logger: Logger): Promise<StandaloneWorker> {
  const { worker: options, file, origin } = settings
  const secrets = new KnownSecrets()
  secrets.add([{ secret: settings.log.secrets }])
  const { inbox: configured } = settings
  if (!configured) {
    const message = `${origin('inbox')}: there is no inbox: a worker handles what a receiver has stored. Configure an inbox.`
    throw new CountersignError('ERR_CONFIG_INVALID', message)
  }
  const parsed = await withOrigin(origin, async () => {
    const inbox = await configured.create({ clock: options.clock, logger })
    checkRetention(file.name, 'inbox', inbox.retentionMs, toleranceOptions(file.name, settings.tolerance))
    return parseWorkerOptions({ ...options, inbox, logger }, secrets)
  })
  const worker = new InboxWorker(parsed, secrets)
  await registerHandlers(worker, settings, secrets)
  if (!worker[HANDLERS].isEmpty) return { worker, parsed }
  const message = `${file.name}: there are no handlers: a worker would handle nothing. Set "handlers".`
  throw new CountersignError('ERR_CONFIG_INVALID', message)
}
