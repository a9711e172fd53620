import { buildProgram } from './built-program.js'

/** A program whose argument is the URL of a Redis server, on which it has a `store`. */
export function buildRedisProgram(directory: string, statements: string): string {
  return buildProgram(
    directory,
    IMPORTS,
    `const client = await createClient({ url: process.argv[2] }).connect()
    const store = new RedisIdempotencyStore({ client, logger: false })
    ${statements}`,
  )
}

const IMPORTS = `
  import http from 'node:http'
  import { createInterface } from 'node:readline'
  import { createClient } from 'redis'
  import { createReceiver } from '../../src/index.js'
  import { RedisIdempotencyStore } from '../../src/redis.js'
  import { digest } from './claim-requests.js'
  import { subscription } from './subscription.js'
`
