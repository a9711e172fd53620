export { RedisIdempotencyStore, type RedisIdempotencyStoreOptions } from './idempotency/redis/redis-store.js'
export type { RedisClient } from './idempotency/redis/redis-client.js'
