import { property } from '../../base/foreign-value.js'
import { invalidOption } from '../../base/option-checks.js'

interface NodeRedisCommandOptions {
  readonly abortSignal?: AbortSignal
  /** How long a command may wait in the queue, in milliseconds. 0: as long as it takes. */
  readonly timeout?: number
}

/** `createClient` and `createClientPool` of the package `redis`. */
export interface NodeRedisClient {
  sendCommand(args: string[], options?: NodeRedisCommandOptions): Promise<unknown>
}

/** `createCluster` of the package `redis`. */
export interface NodeRedisCluster {
  readonly masters: readonly unknown[]
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: string[],
    options?: NodeRedisCommandOptions,
  ): Promise<unknown>
}

/** `createSentinel` of the package `redis`. */
export interface NodeRedisSentinel {
  getSentinelNode(): unknown
  sendCommand(
    isReadonly: boolean | undefined,
    args: string[],
    options?: NodeRedisCommandOptions,
  ): Promise<unknown>
}

/** `Redis` and `Cluster` of the package `ioredis`. */
export interface IoRedisClient {
  call(command: string, ...args: string[]): Promise<unknown>
}

/** A client of the package `redis` 5 or 6, or of `ioredis` 5. The types are structural: neither has to be installed. */
export type RedisClient = NodeRedisClient | NodeRedisCluster | NodeRedisSentinel | IoRedisClient

/**
 * Sends a command. `key` is one of its keys, by which a cluster chooses the node. When `signal` aborts, a command that the
 * client could not write to a connection yet is abandoned, where the client can do so. Without `signal` it is not abandoned.
 */
export type SendCommand = (
  args: readonly [string, ...string[]],
  key: string,
  signal?: AbortSignal,
) => Promise<unknown>

/** @throws CountersignError ERR_OPTION_INVALID */
export function commandSender(owner: string, client: RedisClient): SendCommand {
  const has = (name: string) => property(client, name) !== undefined
  // First, because ioredis has a sendCommand as well, which takes its own command objects.
  if (has('call')) {
    const ioredis = client as IoRedisClient
    return ([command, ...args]) => ioredis.call(command, ...args)
  }
  if (!has('sendCommand')) {
    const cure = 'pass a client: createClient() of the package redis, or new Redis() of the package ioredis'
    throw invalidOption(owner, 'client', client, cure)
  }
  if (has('masters')) {
    const cluster = client as NodeRedisCluster
    return (args, key, signal) => cluster.sendCommand(key, false, [...args], until(signal))
  }
  if (has('getSentinelNode')) {
    const sentinel = client as NodeRedisSentinel
    return (args, _key, signal) => sentinel.sendCommand(false, [...args], until(signal))
  }
  const single = client as NodeRedisClient
  return (args, _key, signal) => single.sendCommand([...args], until(signal))
}

// The default timeout of redis 6 abandons a command after 5 seconds in the queue.
const until = (abortSignal: AbortSignal | undefined) =>
  abortSignal === undefined ? { timeout: 0 } : { abortSignal }

/** A reply as text. Clients can be set to return bytes in place of texts. */
export function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply
  if (reply instanceof Uint8Array) return new TextDecoder().decode(reply)
  throw new TypeError(`Redis replied with a value of type ${typeof reply} where a text was expected`)
}
