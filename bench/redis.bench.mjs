import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createClient } from 'redis'
import { RedisIdempotencyStore } from 'countersign/redis'
import { loadSupport } from '../test/support/load-support.mjs'
import { startServers } from './receiver.bench.mjs'
import { subscription } from './receiver/requests.mjs'
import { median, ratio } from './statistics.mjs'

const SERVERS = ['mounted', 'mounted, Redis store', 'mounted, Redis store that syncs']

/** Callbacks per second that are handled before the answer, with the Redis store and with that in memory; and bytes per key. */
export async function benchRedis({ quick }) {
  const { hasRedis, RedisServer } = loadSupport('redis-server.ts')
  if (!hasRedis) return []
  const inMemory = await RedisServer.start(['--appendonly', 'no'])
  const syncing = await RedisServer.start(['--appendonly', 'yes', '--appendfsync', 'always'])
  try {
    const perKey = await bytesPerKey(inMemory.url, quick ? 10_000 : 100_000)
    Object.assign(process.env, { BENCH_REDIS: inMemory.url, BENCH_REDIS_THAT_SYNCS: syncing.url })
    const results = await startServers(SERVERS, {
      rounds: quick ? 4 : 14,
      roundSeconds: quick ? 0.25 : 0.6,
      warmUp: quick ? 1000 : 3000,
      connections: 64,
      maySleep: true,
    })
    return [...rowsOf(results), perKey]
  } finally {
    await Promise.all([inMemory.stop(), syncing.stop()])
  }
}

function rowsOf(results) {
  const series = (name) => results[name].map(({ perSecond }) => perSecond)
  const row = (name, baseline, aim) => ({
    part: 'redis',
    what: `${name}, 64 connections`,
    measured: `${Math.round(median(series(name)))}/s`,
    ...(baseline && { ratio: ratio(series(name), series(baseline)), of: `÷ ${baseline}, in memory`, aim }),
  })
  return [
    row('mounted'),
    row('mounted, Redis store', 'mounted', { atLeast: 0.7 }),
    row('mounted, Redis store that syncs', 'mounted'),
  ]
}

async function bytesPerKey(url, keys) {
  const client = await createClient({ url }).connect()
  const store = new RedisIdempotencyStore({ client, logger: false })
  // The scripts are loaded by the first.
  await complete(store)
  const before = await usedMemory(client)
  for (let done = 0; done < keys; done += 500) {
    await Promise.all(Array.from({ length: 500 }, () => complete(store)))
  }
  const bytes = (await usedMemory(client)) - before
  client.destroy()
  return {
    part: 'redis',
    what: `RedisIdempotencyStore, ${keys.toLocaleString('en')} keys`,
    measured: `${(bytes / 1e6).toFixed(1)} MB`,
    value: bytes / keys,
    of: 'bytes per key',
  }
}

async function complete(store) {
  const { eventTypeName, callbackUrl } = subscription
  const { claim } = await store.claim({
    key: `${randomUUID()}@${eventTypeName} ${callbackUrl}`,
    bodyHash: createHash('sha256').update(randomUUID()).digest('base64'),
    signature: randomBytes(32).toString('base64'),
    leaseMs: 30_000,
  })
  await claim.complete()
}

async function usedMemory(client) {
  return Number(/^used_memory:(\d+)/m.exec(await client.sendCommand(['INFO', 'memory']))[1])
}
