export { RedisIdempotencyStore, type RedisIdempotencyStoreOptions } from './idempotency/redis/redis-store.js'
export type {
  IoRedisClient,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from './idempotency/redis/redis-client.js'
