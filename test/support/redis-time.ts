import type { NodeRedisClient } from '../../src/redis.js'

/**
 * Makes the records of a store so much older: as if that time had passed on the server, whose clock cannot be set. Knows how
 * the store keeps its leases and expiries.
 */
export async function passTime(client: NodeRedisClient, prefix: string, ms: number): Promise<void> {
  await client.sendCommand(['EVAL', AGE, '0', `{${prefix}}:`, String(ms)])
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
