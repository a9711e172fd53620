import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildSync } from 'esbuild'

export interface InboxProgram {
  readonly child: ChildProcessWithoutNullStreams
  /** What it has printed, line by line. */
  readonly lines: string[]
  /** Resolves when it has ended, to what it has printed; rejects when it complained. */
  readonly ended: Promise<string[]>
}

const root = join(__dirname, '../..')

/**
 * Makes a program of these statements, which may use what it imports and defines. Returns its path; it is to be started with the inbox's file as its argument.
 */
export function buildInboxProgram(directory: string, statements: string): string {
  const outfile = join(directory, 'program.cjs')
  buildSync({
    stdin: { contents: program(statements), resolveDir: join(root, 'test/support'), loader: 'ts' },
    bundle: true,
    platform: 'node',
    external: ['@jest/globals'],
    outfile,
  })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction')
  return outfile
}

export function startProgram(command: string, args: readonly string[]): InboxProgram {
  const child = spawn(command, args)
  const lines: string[] = []
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  const read = new Promise((resolve) => reader.once('close', resolve))
  const ended = new Promise<string[]>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') void read.then(() => resolve(lines))
      else reject(new Error(`the program ended with ${code ?? signal}: ${complaints}`))
    })
  })
  return { child, lines, ended }
}

const program = (statements: string) => `
  import { execFileSync } from 'node:child_process'
  import { once } from 'node:events'
  import fs from 'node:fs'
  import http from 'node:http'
  import path from 'node:path'
  import { createInterface } from 'node:readline'
  import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
  import { createReceiver, createWorker } from '../../src/index.js'
  import { SqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.js'
  import { addEventually } from './add-eventually.js'
  import { arrival } from './arrivals.js'
  import { signedCallback } from '../../src/testing/signed-callback.js'
  import { subscription } from './running-receiver.js'

  const file = process.argv[2]
  const print = (line) => process.stdout.write(line + '\\n')

  async function run() {
    ${statements}
  }
  run().catch((error) => {
    console.error(error)
    process.exit(1)
  })
`
