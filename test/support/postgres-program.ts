import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

const root = join(__dirname, '../..')

/**
 * Makes a program of these statements, which may use what it imports and defines. Returns its path; it is to be started with
 * the connection string of a database as its argument, by startProgram.
 */
export function buildPostgresProgram(directory: string, statements: string): string {
  const outfile = join(directory, 'program.cjs')
  buildSync({
    stdin: { contents: program(statements), resolveDir: join(root, 'test/support'), loader: 'ts' },
    bundle: true,
    platform: 'node',
    external: ['@jest/globals', 'pg'],
    outfile,
  })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction')
  return outfile
}

const program = (statements: string) => `
  import http from 'node:http'
  import { createInterface } from 'node:readline'
  import { createReceiver } from '../../src/index.js'
  import { PostgresInbox } from '../../src/postgres.js'
  import { subscription } from './running-receiver.js'

  const print = (line) => process.stdout.write(line + '\\n')

  async function run() {
    const inbox = new PostgresInbox({ connectionString: process.argv[2], logger: false })
    ${statements}
  }
  run().catch((error) => {
    console.error(error)
    process.exit(1)
  })
`
