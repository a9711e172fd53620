import { join } from 'node:path'
import { symlinkSync } from 'node:fs'
import { buildSync } from 'esbuild'

const root = join(__dirname, '../..')

/**
 * Makes a program of these statements, which may use what it imports and defines. Returns its path; it is to be started with
 * the URL of a Redis server as its argument, by startProgram.
 */
export function buildRedisProgram(directory: string, statements: string): string {
  const outfile = join(directory, 'program.cjs')
  buildSync({
    stdin: { contents: program(statements), resolveDir: join(root, 'test/support'), loader: 'ts' },
    bundle: true,
    platform: 'node',
    external: ['@jest/globals', 'redis'],
    outfile,
  })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction')
  return outfile
}

const program = (statements: string) => `
  import http from 'node:http'
  import { createInterface } from 'node:readline'
  import { createClient } from 'redis'
  import { createReceiver } from '../../src/index.js'
  import { RedisIdempotencyStore } from '../../src/redis.js'
  import { digest } from './claim-requests.js'
  import { subscription } from './running-receiver.js'

  const print = (line) => process.stdout.write(line + '\\n')

  async function run() {
    const client = await createClient({ url: process.argv[2] }).connect()
    const store = new RedisIdempotencyStore({ client, logger: false })
    ${statements}
  }
  run().catch((error) => {
    console.error(error)
    process.exit(1)
  })
`
