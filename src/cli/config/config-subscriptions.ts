import { callbackUrlProblem } from '../../signature/index.js'
import { secretProblem } from '../../signature/secret.js'
import type { SecretReference } from './config-entry.js'
import type { ConfigFile } from './config-file.js'
import { isSecretReference, resolveSecret } from './config-secrets.js'
import { UsageError } from '../io.js'
import { isPlainFileName, isPlainVariable } from '../secret-option.js'

/** A subscription of the configuration, with each of its secrets separately. */
export interface ConfiguredSubscription {
  /** Its position: `subscriptions[0]`. */
  readonly place: string
  /** The configured id, if there is one. */
  readonly id: string | undefined
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly description: string | undefined
  readonly secrets: readonly ConfiguredSecret[]
}

interface ConfiguredSecret {
  /**
   * Identifies the secret in messages, never by its text: `variable TRANSFERS_SECRET`, `file transfers.secret`, or
   * its position.
   */
  readonly name: string
  readonly reference: SecretReference
  /** Its text, or why it cannot be read. */
  readonly secret: string | { readonly problem: string }
}

/**
 * The subscriptions of a configuration. Some of their secrets may be unreadable.
 * @throws UsageError if there is no list of subscriptions
 */
export async function configuredSubscriptions(
  subscriptions: unknown,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<ConfiguredSubscription[]> {
  if (typeof subscriptions === 'function') {
    throw new UsageError(`${file.name}: subscriptions is a function, so the subscriptions cannot be listed`)
  }
  if (!Array.isArray(subscriptions)) throw new UsageError(`${file.name} has no list of subscriptions`)
  return Promise.all(
    subscriptions.map(async (each: unknown, index) => {
      const place = `subscriptions[${index}]`
      const { id, eventTypeName, callbackUrl, description, secret } = Object(each) as Record<string, unknown>
      const problem =
        typeof eventTypeName === 'string' ? callbackUrlProblem(callbackUrl) : 'eventTypeName is not a text'
      if (problem) throw new UsageError(`${file.name}: ${place}: ${problem}`)
      const list: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
      return {
        place,
        id: typeof id === 'string' ? id : undefined,
        eventTypeName: eventTypeName as string,
        callbackUrl: callbackUrl as string,
        description: typeof description === 'string' ? description : undefined,
        secrets: await Promise.all(
          list.map(async (item, position) =>
            configuredSecret(item, list.length === 1 ? 'secret' : `secret[${position}]`, file, env),
          ),
        ),
      }
    }),
  )
}

async function configuredSecret(
  item: unknown,
  position: string,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<ConfiguredSecret> {
  if (typeof item !== 'object' || item === null) {
    const problem = secretProblem(item)
    return { name: position, reference: undefined, secret: problem ? { problem } : (item as string) }
  }
  try {
    const secret = await resolveSecret(item, file, env)
    return { ...named(item as NonNullable<SecretReference>), secret }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const known = isPlainReference(item) ? named(item) : { name: position, reference: undefined }
    return { ...known, secret: { problem: error.message } }
  }
}

function named(reference: NonNullable<SecretReference>): Pick<ConfiguredSecret, 'name' | 'reference'> {
  const name = 'env' in reference ? `variable ${reference.env}` : `file ${reference.file}`
  return { name, reference }
}

/** Whether a reference that cannot be read may be shown: it may be the secret itself. */
function isPlainReference(item: object): item is NonNullable<SecretReference> {
  if (!isSecretReference(item)) return false
  return 'env' in item ? isPlainVariable(item.env) : isPlainFileName(item.file)
}
