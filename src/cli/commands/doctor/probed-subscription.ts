import { secretProblem } from '../../../signature/secret.js'
import { hasConfig, loadValues } from '../../config/config-values.js'
import { configuredSubscriptions, type ConfiguredSubscription } from '../../config/config-subscriptions.js'
import { withHiddenLines } from '../../hidden-lines.js'
import { UsageError, type Io } from '../../io.js'
import { readSecret, type SecretFlags } from '../../secret-option.js'

export interface ProbedFlags extends SecretFlags {
  readonly config?: string
  readonly eventType?: string
  readonly ask?: true
}

interface ProbedSubscription {
  readonly secrets: readonly string[]
  readonly eventTypeName: string
}

/** A function that returns the subscriptions is given the event type as a hint; a list does not depend on it. */
const ANY_EVENT_TYPE = 'countersign.probe'

/** The subscription whose secrets the probes have. @throws UsageError, CountersignError */
export async function probedSubscription(url: URL, flags: ProbedFlags, io: Io): Promise<ProbedSubscription> {
  const { eventType = ANY_EVENT_TYPE, secretEnv, secretFile, ask } = flags
  if (ask) return { secrets: [await askForSecret(io)], eventTypeName: eventType }
  if (secretEnv !== undefined || secretFile !== undefined || !hasConfig(flags, io))
    return { secrets: [await readSecret(flags, io)], eventTypeName: eventType }
  const { file, values } = await loadValues(flags, io)
  const subscriptions = await configuredSubscriptions(values.subscriptions, file, io.env)
  const subscription = ofUrl(subscriptions, url, flags.eventType)
  if (!subscription) {
    throw new UsageError(
      `${file.name} has no subscription with this URL: correct the URL, or name the secret with --secret-env, ` +
        '--secret-file or --ask',
    )
  }
  const secrets = subscription.secrets.map(({ secret }) => secret)
  const readable = secrets.filter((secret) => typeof secret === 'string')
  if (readable.length > 0) return { secrets: readable, eventTypeName: subscription.eventTypeName }
  const [unreadable] = secrets
  const problem = typeof unreadable === 'object' ? unreadable.problem : 'it has no secret'
  throw new UsageError(`${file.name}: ${subscription.place}: ${problem}`)
}

/** The subscription with this URL, or the only one: a test may use another address of the same receiver. */
function ofUrl(
  subscriptions: readonly ConfiguredSubscription[],
  url: URL,
  eventType: string | undefined,
): ConfiguredSubscription | undefined {
  const possible = subscriptions.filter(
    ({ eventTypeName }) => eventType === undefined || eventTypeName === eventType,
  )
  const matching = possible.find(({ callbackUrl }) => new URL(callbackUrl).href === url.href)
  return matching ?? (possible.length === 1 ? possible[0] : undefined)
}

async function askForSecret(io: Io): Promise<string> {
  const secret = await withHiddenLines(io, (ask) => ask('The secret, not shown: '))
  const problem = secret === undefined ? 'there is no line' : secretProblem(secret)
  if (problem) throw new UsageError(`--ask: ${problem}`)
  return secret!
}
