import { COMPLETE } from '../../src/idempotency/redis/scripts.js'
import type { IoRedisClient, NodeRedisClient } from '../../src/idempotency/redis/redis-client.js'

/**
 * The time that a store sees on its server, whose clock cannot be set. Knows how the store keeps its leases and expiries: the
 * records are made older, and the ends of leases that a claim keeps are moved on their way to the server and back.
 */
export class StoreTime {
  readonly #control: NodeRedisClient
  readonly #prefix: string
  passedMs = 0

  constructor(control: NodeRedisClient, prefix: string) {
    this.#control = control
    this.#prefix = prefix
  }

  async pass(ms: number): Promise<void> {
    this.passedMs += ms
    await this.#control.sendCommand(['EVAL', AGE, '0', `{${this.#prefix}}:`, String(ms)])
  }

  /** What the store sends its commands with. */
  of(client: NodeRedisClient | IoRedisClient): NodeRedisClient | IoRedisClient {
    if ('call' in client)
      return {
        call: async (command, ...args) => this.#toStore(await client.call(command, ...this.#toServer(args))),
      }
    return {
      sendCommand: async ([command, ...args], options) =>
        this.#toStore(await client.sendCommand([command!, ...this.#toServer(args)], options)),
    }
  }

  #toStore(reply: unknown): unknown {
    if (typeof reply !== 'string') return reply
    return reply.replace(
      /^(claimed \d+) (\d+)$/gm,
      (_, state, end) => `${state} ${Number(end) + this.passedMs}`,
    )
  }

  #toServer(args: string[]): string[] {
    const [script, count] = args
    if (script !== COMPLETE.sha1 && script !== COMPLETE.source) return args
    const first = Number(count) + 3
    return args.map((arg, index) => (index < first ? arg : this.#withEnd(arg)))
  }

  #withEnd(argument: string): string {
    return argument.slice(0, 58) + String(Number(argument.slice(58)) - this.passedMs)
  }
}

const AGE = `
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local left = redis.call('PTTL', key) - ARGV[2]
  local kind = string.sub(key, #ARGV[1] + 1, #ARGV[1] + 1)
  if left <= 0 then
    redis.call('DEL', key)
  else
    if kind == 'c' and redis.call('HEXISTS', key, 'until') == 1 then
      redis.call('HINCRBY', key, 'until', -ARGV[2])
    elseif kind == 'h' then
      local value = redis.call('GET', key)
      local untilThen = tonumber(string.sub(value, 23)) - ARGV[2]
      redis.call('SET', key, string.sub(value, 1, 22) .. string.format('%.0f', untilThen))
    end
    redis.call('PEXPIRE', key, left)
  end
end
return 'OK'
`
