import { dirname } from 'node:path'
import { CountersignError } from '../../base/errors.js'
import type { ConfigFile } from './config-file.js'
import { UsageError } from '../io.js'
import { SymbolicLinkError } from '../private-file.js'
import type { SecretReference } from './config-entry.js'
import { readSecretFile, readSecretVariable } from '../secret-option.js'

/**
 * The subscriptions, with the text of every secret that is configured as `{ "env": NAME }` or `{ "file": PATH }`.
 * The receiver checks everything else.
 * @throws CountersignError ERR_CONFIG_INVALID
 */
export async function resolveSecrets(
  subscriptions: unknown,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<unknown> {
  if (!Array.isArray(subscriptions)) return subscriptions
  const text = async (secret: unknown, where: string): Promise<unknown> =>
    resolveOption(secret, { option: where, meaning: 'the secret text' }, file, env)
  return Promise.all(
    subscriptions.map(async (subscription: unknown, index) => {
      if (typeof subscription !== 'object' || subscription === null || !('secret' in subscription)) {
        return subscription
      }
      const { secret } = subscription
      const where = `subscriptions[${index}].secret`
      return {
        ...subscription,
        secret: Array.isArray(secret)
          ? await Promise.all(secret.map((each, place) => text(each, `${where}[${place}]`)))
          : await text(secret, where),
      }
    }),
  )
}

export interface ReferringOption {
  /** Such as `subscriptions[0].secret`. */
  readonly option: string
  /** What the text is, for messages: `the URL`. */
  readonly meaning: string
}

/**
 * The text that an option refers to as `{ "env": NAME }` or `{ "file": PATH }`. A value that is no object is returned unchecked.
 * @throws CountersignError ERR_CONFIG_INVALID
 */
export async function resolveOption(
  value: unknown,
  { option, meaning }: ReferringOption,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value
  try {
    return await resolveSecret(value, file, env, meaning)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const end = /[.?]$/.test(error.message) ? '' : '.'
    throw new CountersignError('ERR_CONFIG_INVALID', `${file.name}: ${option}: ${error.message}${end}`)
  }
}

/** @throws UsageError */
export function resolveSecret(
  secret: object,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
  meaning = 'the secret text',
): Promise<string> | string {
  if (!isSecretReference(secret)) {
    throw new UsageError(`write ${meaning}, { "env": "NAME" } or { "file": "PATH" }`)
  }
  if ('env' in secret) return readSecretVariable(secret.env, env)
  return readConfiguredFile(secret, dirname(file.path))
}

export function isSecretReference(secret: object): secret is NonNullable<SecretReference> {
  const { env, file, followSymbolicLinks, ...more } = secret as Record<string, unknown>
  if (Object.keys(more).length > 0) return false
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  if (env !== undefined) return isText(env) && file === undefined && followSymbolicLinks === undefined
  return isText(file) && ['undefined', 'boolean'].includes(typeof followSymbolicLinks)
}

async function readConfiguredFile(
  { file, ...links }: Extract<SecretReference, { file: string }>,
  folder: string,
): Promise<string> {
  try {
    return await readSecretFile(file, folder, links)
  } catch (error) {
    // Kubernetes mounts each file of a secret as a symbolic link.
    if (!(error instanceof SymbolicLinkError)) throw error
    throw new UsageError(`${error.message}, or write { "file": "...", "followSymbolicLinks": true }`)
  }
}
