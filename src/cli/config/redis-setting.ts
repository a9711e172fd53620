import { checkKnownOptions, invalidOption } from '../../base/option-checks.js'
import { parseUrl } from '../../base/parse-url.js'
import type { ConfigFile } from './config-file.js'
import { resolveOption } from './config-secrets.js'

export interface RedisSetting {
  /** The URL for the client. It may contain a password. */
  readonly url: URL
  readonly prefix?: string | undefined
  readonly retentionMs?: number | undefined
}

/**
 * The `store` option if it is `{ redis: { url, prefix, retentionMs } }`; undefined if it is something else.
 * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function redisSetting(
  store: unknown,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
): Promise<RedisSetting | undefined> {
  if (typeof store !== 'object' || store === null || !('redis' in store) || 'claim' in store) return undefined
  checkKnownOptions(`${file.name}: store`, store, ['redis'])
  const owner = `${file.name}: store.redis`
  checkKnownOptions(owner, store.redis, ['url', 'prefix', 'retentionMs'])
  const { url, ...options } = store.redis as Readonly<Record<string, unknown>>
  const text = await resolveOption(url, { option: 'store.redis.url', meaning: 'the URL' }, file, env)
  return { ...options, url: parsedUrl(owner, text) }
}

/** The error does not contain a wrong URL, because a URL may contain a password. */
function parsedUrl(owner: string, text: unknown): URL {
  const url = typeof text === 'string' ? parseUrl(text) : undefined
  if (url && ['redis:', 'rediss:'].includes(url.protocol) && url.hostname !== '' && isDecodable(url.password))
    return url
  const cure = 'use { env: "REDIS_URL" }, with a URL such as redis://127.0.0.1:6379 in that variable'
  throw invalidOption(
    owner,
    'url',
    text,
    cure,
    typeof text === 'string' ? 'not a URL of a Redis server' : undefined,
  )
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** The texts that no output may contain: the URL, and its password as written and decoded. */
export function secretsOfUrl({ url: { password, href } }: RedisSetting): string[] {
  return password === '' ? [] : [href, password, decodeURIComponent(password)]
}
