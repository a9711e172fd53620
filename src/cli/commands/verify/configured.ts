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
import { readSecret } from '../../secret-option.js'
import type { RecordedFile } from './recorded-file.js'
import type { ValuesToTry } from './values-to-try.js'

export type ShownSubscription = Subscription & { readonly secret: string }

/** What a request is compared with: of the options, of the configuration, or of NAME.json. */
export type Configured = (file: RecordedFile) => Promise<
  ExplainOptions & {
    /** The only subscription, if its URL may be printed: that of a configuration may have a token in its query. */
    readonly shown?: ShownSubscription
  }
>

/** @throws UsageError, CountersignError */
export async function configuredOptions(
  { config, callbackUrl }: { readonly config?: string; readonly callbackUrl?: string },
  { secrets, urls }: ValuesToTry,
  io: Io,
): Promise<Configured> {
  const more = { previousSecrets: secrets, urls }
  if (callbackUrl !== undefined) {
    const [secret = await readSecret({}, io)] = secrets
    const shown = { eventTypeName: 'unknown', callbackUrl, secret }
    return async () => ({ ...more, subscriptions: [shown], shown })
  }
  if (!hasConfig({ config }, io)) {
    return async (file) => ({ ...more, ...(await withoutConfig(file, { secrets, urls })) })
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
): Promise<{ readonly subscriptions: Subscription[]; readonly shown?: ShownSubscription }> {
  // The files of an old capture may have been removed since the request was read.
  if (path?.endsWith('.http') && [path, path.replace(/\.http$/, '.json')].every((file) => existsSync(file))) {
    const { subscription } = await loadRecordedRequest(path)
    // A capture does not have the secret.
    if (subscription.secret !== NO_SECRET) return { subscriptions: [subscription], shown: subscription }
  }
  const [secret] = secrets
  const [callbackUrl] = urls
  if (secret !== undefined && callbackUrl !== undefined)
    return { subscriptions: [{ eventTypeName: 'unknown', callbackUrl, secret }] }
  throw new UsageError(
    'there is nothing to compare the request with: name a configuration with --config, or give the URL and the ' +
      'secret with --callback-url and --secret-file',
  )
}
