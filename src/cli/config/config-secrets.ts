import { dirname, resolve } from 'node:path'
import { CountersignError } from '../../errors.js'
import type { ConfigFile } from './config-file.js'
import { UsageError } from '../io.js'
import { readSecretFile, readSecretVariable } from '../secret-option.js'

/**
 * The subscriptions with every secret that is written as `{ "env": NAME }` or `{ "file": PATH }` replaced by its text.
 * Whatever else is wrong with them is for the receiver to find.
 * @throws CountersignError ERR_CONFIG_INVALID
 */
export async function resolveSecrets(
  subscriptions: unknown,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<unknown> {
  if (!Array.isArray(subscriptions)) return subscriptions
  const text = async (secret: unknown, where: string): Promise<unknown> => {
    if (typeof secret !== 'object' || secret === null) return secret
    try {
      return await resolveSecret(secret, file, env)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      const problem = error.message.replace(/[^.?]$/, '$&.')
      throw new CountersignError('ERR_CONFIG_INVALID', `${file.name}: ${where}: ${problem}`)
    }
  }
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

/** @throws UsageError */
export function resolveSecret(
  secret: object,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<string> | string {
  const [[name, value] = [], ...more] = Object.entries(secret) as [string, unknown][]
  if (more.length === 0 && typeof value === 'string' && value !== '') {
    if (name === 'env') return readSecretVariable(value, env)
    if (name === 'file') return readSecretFile(resolve(dirname(file.path), value), value)
  }
  throw new UsageError('write the secret text, { "env": "NAME" } or { "file": "PATH" }')
}
