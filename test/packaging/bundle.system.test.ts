import { execFileSync, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(__dirname, '../..')

const APP = `
import { createServer } from 'node:http'
import { createReceiver } from 'countersign'
import { RedisIdempotencyStore } from 'countersign/redis'
import { SqliteInbox } from 'countersign/sqlite'

void [RedisIdempotencyStore, SqliteInbox]
const secret = 'a secret of forty characters, as they are'
const callbackUrl = 'https://partner.example.com/hooks/transfers'
const subscriptions = [{ eventTypeName: 'transfers.book-completed', callbackUrl, secret }]
const listener = createReceiver({ subscriptions, logger: false }).onAny(() => {}).requestListener()
const server = createServer(listener).listen(0, '127.0.0.1', async () => {
  const { status } = await fetch('http://127.0.0.1:' + server.address().port, { method: 'POST' })
  console.log(JSON.stringify(status))
  process.exit()
})
`

/** The commands with esbuild of docs/deployment.md, as arguments. */
function documentedCommands(): string[][] {
  const commands = readFileSync(join(ROOT, 'docs/deployment.md'), 'utf8')
    .replaceAll('\\\n', ' ')
    .match(/^npx esbuild .*$/gm)
  return (commands ?? []).map((command) =>
    [...command.matchAll(/[^\s"]+"([^"]*)"|\S+/g)].slice(2).map(([argument]) => argument.replaceAll('"', '')),
  )
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-bundle-'))
beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/countersign'))
  writeFileSync(join(folder, 'app.js'), APP)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function startBundle(flags: readonly string[]) {
  execFileSync(join(ROOT, 'node_modules/.bin/esbuild'), [...flags, '--log-level=error'], { cwd: folder })
  return spawnSync(process.execPath, ['bundle.mjs'], { cwd: folder, encoding: 'utf8' })
}

it('the documentation has two commands for bundles', () => {
  expect(documentedCommands()).toHaveLength(2)
})

it.each(documentedCommands().map((flags) => ({ flags })))(
  'a bundle that was made as documented answers: $flags',
  ({ flags }) => {
    const { stdout, stderr } = startBundle(flags)
    expect({ stdout, stderr }).toEqual({ stdout: '401\n', stderr: '' })
  },
)

it('a bundle of an ES module without these flags does not start, as documented', () => {
  const flags = ['app.js', '--bundle', '--platform=node', '--format=esm', '--outfile=bundle.mjs']
  expect(startBundle(flags).stderr).toContain('Dynamic require of "node:util" is not supported')
})

it('has no template that terser cannot parse, so webpack can minify it', () => {
  const dist = join(ROOT, 'dist')
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  )
  const refused = files.filter((name) => /raw ?`\\u\{/.test(readFileSync(join(dist, name), 'utf8')))
  expect(refused).toEqual([])
})
