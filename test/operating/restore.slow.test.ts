import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { signedCallback, type SignedCallback } from '../../src/testing/signed-callback.js'
import { SUBSCRIPTION } from '../cli/configured.js'
import { Sandbox, type Serving } from '../cli/program.js'
import { itWhere } from '../support/it-where.js'
import { hasPostgres, PostgresServer } from '../support/postgres-server.js'
import { findProgram } from '../support/server-program.js'
import { until } from '../support/until.js'
import { runShell, shellBlocks } from './documented-commands.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const [backUpFile, backUpDatabase, backUpVolume] = shellBlocks('Back up') as [string, string, string]
const [restoreFile, restoreDatabase, restoreVolume] = shellBlocks('Restore') as [string, string, string]

// The image has a Node with node:sqlite.
const SQLITE = process.getBuiltinModule('node:sqlite')
  ? 'node:sqlite'
  : require.resolve('@photostructure/sqlite')

/** What the commands for a container run in it, in the folder of this test. */
const inContainer = (block: string) =>
  block
    .replaceAll(/^docker (?:stop|start) countersign$/gm, '')
    .replace(/^docker run [^]*? countersign \\$/m, 'sh \\')
    .replaceAll('docker exec countersign ', '')
    .replaceAll(/\/var\/lib\/countersign\b\/?/g, './')
    .replaceAll('node -e', `"${process.execPath}" -e`)
    .replaceAll('node:sqlite', SQLITE)

/** A configuration whose handler writes the Id of each event into the file handled.txt. */
const config = (inbox: object) => `
  import { appendFileSync } from 'node:fs'
  export default {
    subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
    inbox: ${JSON.stringify(inbox)},
    port: 0,
    pollMs: 20,
    handlers: { 'transfers.book-completed': ({ payload }) => appendFileSync('handled.txt', payload.Id + '\\n') },
  }`

const callbackOf = (Id: string) => signedCallback({ subscription: SUBSCRIPTION, payload: { Id } })

async function deliver(serve: Serving, { path, headers, body }: SignedCallback): Promise<void> {
  const url = `http://127.0.0.1:${await serve.port()}${path}`
  const response = await fetch(url, { method: 'POST', headers: { ...headers, Connection: 'close' }, body })
  expect(response.status).toBe(200)
}

/** Delivers a callback and waits until it has been handled. */
async function handle(
  serve: Serving,
  cwd: string,
  callback: SignedCallback,
  handled: string[],
): Promise<void> {
  await deliver(serve, callback)
  await untilHandled(cwd, handled)
}

async function untilHandled(cwd: string, expected: string[]): Promise<void> {
  const file = join(cwd, 'handled.txt')
  const handled = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [])
  await until(() => handled().length >= expected.length)
  expect(handled()).toEqual(expected)
}

interface Commands {
  readonly backUp: string
  readonly restore: string
  readonly inbox: object
  readonly env?: Record<string, string>
}

/** What the page says about a restore: what was known is recognised, and what came since is not. */
async function restores({ backUp, restore, inbox, env = {} }: Commands): Promise<string> {
  const cwd = await sandbox.directory({ 'countersign.config.mjs': config(inbox) })
  const before = sandbox.serve([], { cwd, env })
  const [known, since] = [callbackOf('known'), callbackOf('since')]
  await before.port()
  // As every night: the second one replaces the first.
  expect(await runShell(backUp, { cwd, env })).toMatchObject({ code: 0 })
  await handle(before, cwd, known, ['known'])
  expect(await runShell(backUp, { cwd, env })).toMatchObject({ code: 0 })
  await handle(before, cwd, since, ['known', 'since'])
  before.signal('SIGTERM')
  expect(await before.exit).toBe(0)

  const restored = await runShell(restore, { cwd, env })
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  const stats = await runShell('countersign inbox stats', { cwd, env })
  expect(stats.stdout).toMatch(/handled +1\n/)

  const after = sandbox.serve([], { cwd, env })
  await deliver(after, known)
  await handle(after, cwd, since, ['known', 'since', 'since'])
  return cwd
}

itWhere(findProgram('sqlite3') !== undefined, 'sqlite3')(
  'a file is restored from a copy that was made while a receiver used it',
  async () => {
    const cwd = await restores({ backUp: backUpFile, restore: restoreFile, inbox: { file: 'callbacks.db' } })
    expect(statSync(join(cwd, 'callbacks-backup.db')).mode & 0o077).toBe(0)
    expect(readdirSync(join(cwd, 'replaced'))).toEqual([
      'callbacks.db',
      'callbacks.db-doubt',
      'callbacks.db-gate',
      'callbacks.db-writing',
    ])
    // In a terminal the commands do not end at the first one that fails.
    const again = await runShell(`set +e\n${restoreFile}`, { cwd })
    expect(again.stderr).toMatch(/mkdir: .*replaced.*exists/)
    const replaced = 'countersign inbox list --json --body --inbox replaced/callbacks.db --newer-than 2d'
    expect((await runShell(replaced, { cwd })).stdout.trim().split('\n')).toHaveLength(2)
  },
  60_000,
)

it('a file is restored from a copy that was made in its container', async () => {
  const commands = { backUp: inContainer(backUpVolume), restore: inContainer(restoreVolume) }
  const cwd = await restores({ ...commands, inbox: { file: 'callbacks.db' } })
  expect(statSync(join(cwd, 'callbacks.db')).mode & 0o077).toBe(0)
  expect(readdirSync(join(cwd, 'replaced'))).toEqual([
    'callbacks.db',
    'callbacks.db-doubt',
    'callbacks.db-gate',
    'callbacks.db-writing',
  ])
}, 60_000)

itWhere(hasPostgres && findProgram('pg_dump') !== undefined, 'PostgreSQL')(
  'a schema is restored from a dump that was made while a receiver used it',
  async () => {
    const server = await PostgresServer.start()
    sandbox.after(() => server.stop())
    const env = { DATABASE_URL: await server.createDatabase() }
    const inbox = { postgres: { connectionString: { env: 'DATABASE_URL' } } }
    await restores({ backUp: backUpDatabase, restore: restoreDatabase, inbox, env })
  },
  60_000,
)
