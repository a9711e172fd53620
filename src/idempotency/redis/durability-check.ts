import { textProperty } from '../../base/foreign-value.js'
import type { Logger } from '../../logging/logger.js'
import { textOf, type SendCommand } from './redis-client.js'

/**
 * Warns of each setting of the server with which it may forget a completed key before its time. What the server does not
 * tell, because the user may not ask or the service does not show it, is logged once, at level info.
 * @throws what the client rejects with, where the server cannot be reached
 */
export async function checkDurability(send: SendCommand, key: string, logger: Logger): Promise<void> {
  const ask = (...command: [string, ...string[]]) => answer(send(command, key))
  const [memory, persistence, appendfsync] = await Promise.all([
    ask('INFO', 'memory').then(infoFields),
    ask('INFO', 'persistence').then(infoFields),
    ask('CONFIG', 'GET', 'appendfsync').then(settingOf),
  ])
  const warn = (fields: object, message: string) =>
    logger.warn({ code: 'WARN_NOT_DURABLE', ...fields }, message)

  const policy = memory?.get('maxmemory_policy')
  // With the limit 0 nothing is evicted, whatever the policy is.
  if (policy !== undefined && policy !== 'noeviction' && memory?.get('maxmemory') !== '0')
    warn(
      { setting: 'maxmemory-policy', value: policy },
      `the Redis server evicts keys when its memory is full (maxmemory-policy is ${policy}): a callback that comes again ` +
        'would be handled again. Set maxmemory-policy to noeviction, or use a Redis server for the store alone',
    )
  if (persistence?.get('aof_enabled') === '0')
    warn(
      { setting: 'appendonly', value: 'no' },
      'the Redis server does not write an append-only file (appendonly is no): after a crash or restart it has forgotten ' +
        'completed callbacks, at least the latest, and one that comes again would be handled again. Set appendonly to yes ' +
        'and appendfsync to always',
    )
  else if (appendfsync !== undefined && appendfsync !== 'always')
    warn(
      { setting: 'appendfsync', value: appendfsync },
      `the Redis server answers before its append-only file is on the disk (appendfsync is ${appendfsync}): after a crash ` +
        'of its machine it has forgotten the callbacks completed last, and one that comes again would be handled again. ' +
        'Set appendfsync to always',
    )

  const unknown = [
    ...(policy === undefined ? ['maxmemory-policy'] : []),
    ...(persistence?.get('aof_enabled') === undefined ? ['appendonly'] : []),
    ...(appendfsync === undefined && persistence?.get('aof_enabled') !== '0' ? ['appendfsync'] : []),
  ]
  if (unknown.length > 0)
    logger.info(
      { unknown },
      `the Redis server does not tell its settings ${unknown.join(', ')}: check that it neither evicts keys nor loses ` +
        'acknowledged writes',
    )
}

/** Undefined where the server refuses the command. Rejects where it does not answer. */
async function answer(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply
  } catch (error) {
    // NOPERM: not allowed to this user. ERR: renamed, or switched off by the service.
    if (/^(NOPERM|ERR)\b/.test(textProperty(error, 'message') ?? '')) return undefined
    throw error
  }
}

function infoFields(reply: unknown): ReadonlyMap<string, string> | undefined {
  if (reply === undefined) return undefined
  return new Map(
    textOf(reply)
      .split('\r\n')
      .filter((line) => /^\w+:/.test(line))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)] as const),
  )
}

/** The value in a reply to CONFIG GET: a list of name and value, or with RESP 3 a map or an object. */
function settingOf(reply: unknown): string | undefined {
  if (typeof reply !== 'object' || reply === null) return undefined
  const values: unknown[] = Array.isArray(reply)
    ? reply.slice(1)
    : reply instanceof Map
      ? [...reply.values()]
      : Object.values(reply)
  return values.length === 0 ? undefined : textOf(values[0])
}
