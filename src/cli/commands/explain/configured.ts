import { existsSync } from 'node:fs'
import { NO_SECRET } from '../../../capture/captured-request.js'
import type { Subscription } from '../../../callback/callback.js'
import type { Subscriptions } from '../../../callback/subscriptions.js'
import type { ExplainOptions } from '../../../diagnosis/index.js'
import { headerValues } from '../../../testing/http-message.js'
import { loadRecordedRequest } from '../../../testing/recorded-requests.js'
import { hasConfig, loadValues } from '../../config/config-values.js'
import { resolveSecrets } from '../../config/config-secrets.js'
import { UsageError, type Io } from '../../io.js'
import type { RecordedFile } from './recorded-file.js'
import type { ValuesToTry } from './values-to-try.js'

/** What a request is compared with: of the configuration, of NAME.json, or the values that were given. */
export type Configured = (file: RecordedFile) => Promise<ExplainOptions>

/** @throws UsageError, CountersignError */
export async function configuredOptions(
  config: string | undefined,
  { secrets, urls }: ValuesToTry,
  io: Io,
): Promise<Configured> {
  const more = { previousSecrets: secrets, urls }
  if (!hasConfig({ config }, io)) {
    return async (file) => ({ ...more, subscriptions: [await withoutConfig(file, { secrets, urls })] })
  }
  const { file, values } = await loadValues({ config }, io)
  const { toleranceMs, futureToleranceMs } = values as Pick<
    ExplainOptions,
    'toleranceMs' | 'futureToleranceMs'
  >
  const subscriptions = (await resolveSecrets(values.subscriptions, file, io.env)) as Subscriptions
  if (typeof subscriptions !== 'function')
    return async () => ({ ...more, subscriptions, toleranceMs, futureToleranceMs })
  return async ({ request }) => {
    const [eventType, ...repeats] = headerValues(request.rawHeaders ?? [], 'x-event-type')
    const hints = { eventType: repeats.length > 0 ? undefined : eventType, path: request.path }
    return { ...more, subscriptions: await subscriptions(hints), toleranceMs, futureToleranceMs }
  }
}

async function withoutConfig(
  { path }: RecordedFile,
  { secrets, urls }: Pick<ValuesToTry, 'secrets' | 'urls'>,
): Promise<Subscription> {
  // The files of an old capture may have been removed since the request was read.
  if (path?.endsWith('.http') && [path, path.replace(/\.http$/, '.json')].every((file) => existsSync(file))) {
    const { subscription } = await loadRecordedRequest(path)
    // A capture does not have the secret.
    if (subscription.secret !== NO_SECRET) return subscription
  }
  const [secret] = secrets
  const [callbackUrl] = urls
  if (secret !== undefined && callbackUrl !== undefined)
    return { eventTypeName: 'unknown', callbackUrl, secret }
  throw new UsageError(
    'there is nothing to compare the request with: name a configuration with --config, or give the secret and the URL ' +
      'with --secret-file and --url-file',
  )
}
