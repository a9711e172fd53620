import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { createArrival } from '../inbox/contract/entries.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { SUBSCRIPTION } from './configured.js'
import { expectHarmless, HOSTILE, startFakeService } from './fake-service.js'
import { countersign, Sandbox } from './program.js'
import { settle } from '../support/settle.js'
import { openAside } from '../support/sqlite-file.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const FIXTURES = join(__dirname, '../../fixtures/recorded')
const DEL = '\u007f'
const TEXT = `${HOSTILE}${DEL}\u0085\t`
/** The program repeats a command line that it does not understand with the line ends that it has. */
const ONE_LINE = TEXT.replaceAll(/[\r\n]/g, '')
const LONG = 'long.'.repeat(100)

/** A folder whose inbox and configuration hold what nobody would want on a terminal. */
async function hostileFolder(): Promise<string> {
  const subscription = {
    eventTypeName: TEXT,
    callbackUrl: SUBSCRIPTION.callbackUrl,
    description: TEXT,
    secret: { file: TEXT },
  }
  const cwd = await sandbox.directory({
    'countersign.config.json': JSON.stringify({ subscriptions: [subscription] }),
  })
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  for (const suspicion of [undefined, `because ${TEXT}`]) {
    const { callback, ...arrival } = createArrival({ type: TEXT, suspicion, rawBody: Buffer.from(TEXT) })
    const about = { ...callback.subscription, eventTypeName: TEXT, description: TEXT }
    await inbox.add({ ...arrival, callback: { ...callback, idempotencyKey: TEXT, subscription: about } })
  }
  const {
    entries: [claim],
  } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
  await settle(inbox, claim!, { move: 'deadLetter', error: `Error: ${TEXT}` })
  await inbox.act('1', 'retry', 'ann')
  await inbox.close()
  // Earlier versions accepted any name.
  const database = await openAside(join(cwd, 'callbacks.db'))
  database.prepare('UPDATE history SET person = ?').run(TEXT)
  database.close()
  return cwd
}

describe('text from outside never commands the terminal', () => {
  it.each<string[][]>([
    [['inbox', 'stats']],
    [['inbox', 'list']],
    [['inbox', 'list', '--json']],
    [['inbox', 'list', '--event-type', TEXT]],
    [['inbox', 'show', '1', '--body']],
    [['inbox', 'show', '1', '--body', '--json']],
    [['inbox', 'show', '2']],
    [['inbox', 'list', '--json', '--body']],
    [['inbox', 'list', '--json', '--body', '--output', join('none', TEXT)]],
    [['inbox', 'retry', '--state', 'quarantined', '--dry-run']],
    [['inbox', 'release', '2', '--by', ONE_LINE]],
    [['inbox', 'discard', '1', '2', '3', '--json']],
    [['inbox', 'prune', '--older-than', '1d']],
    [['inbox', 'stats', '--inbox', TEXT]],
    [['inbox', 'stats', '--config', TEXT]],
    [['rotate', '--status']],
    [['rotate', '--status', '--json']],
    [['rotate', '--prepare', '--secret-file', 'new.secret']],
    [['rotate', '--prepare', '--secret-file', 'new.secret', '--json']],
    [['serve', '--check']],
    [['serve', '--check', '--json']],
    [['serve', '--check', '--config', TEXT]],
    [['serve', TEXT]],
    [['serve', `--${ONE_LINE}`]],
    [[ONE_LINE]],
  ])('%j', async (args) => {
    const ran = await countersign(args, { cwd: await hostileFolder() })
    expectHarmless(ran)
  })

  it('in what is exported, which is still the same JSON', async () => {
    const cwd = await hostileFolder()
    const { stdout } = await countersign(['inbox', 'list', '--json', '--body'], { cwd })
    const [entry] = stdout.split('\n').map((line) => (line ? (JSON.parse(line) as object) : undefined))
    expect(entry).toMatchObject({ eventType: TEXT, idempotencyKey: TEXT })
    await countersign(['inbox', 'list', '--json', '--body', '--output', 'out.jsonl'], { cwd })
    expect(await readFile(join(cwd, 'out.jsonl'), 'utf8')).toBe(stdout)
  })

  it('in the names of recorded requests and in what is wrong with them', async () => {
    const cwd = await sandbox.directory({})
    const folder = join(cwd, `\u001b[2J\u009b31m\nfake line\u202e`)
    await mkdir(folder)
    const name = 'a\u001b]0;title\u0007\nfake line'
    await writeFile(join(folder, `${name}.http`), signedCallback({ subscription: SUBSCRIPTION }).toHttp())
    const expectation = { status: 200, outcome: 'handled' }
    const description = { description: TEXT, subscription: SUBSCRIPTION, expect: expectation }
    for (const json of [description, { ...description, [TEXT]: 1 }, undefined]) {
      if (json) await writeFile(join(folder, `${name}.json`), JSON.stringify(json))
      else await writeFile(join(folder, `${name}.json`), `{ ${TEXT}`)
      for (const args of [
        ['replay', folder, '--url', 'http://127.0.0.1:1'],
        ['replay', folder, '--url', 'http://127.0.0.1:1', '--json'],
        ['verify', join(folder, `${name}.http`)],
        ['verify', join(folder, `${name}.http`), '--json'],
      ]) {
        const ran = await countersign(args, { cwd })
        expect([0, 1, 2]).toContain(ran.code)
        expectHarmless(ran)
      }
    }
  })

  it('in the answers of the service and the names of what is asked for', async () => {
    const { env } = await startFakeService(sandbox, () => ({ status: 500, body: TEXT }))
    const hostileJson = JSON.stringify({ error: TEXT, [TEXT]: TEXT })
    const refusing = await startFakeService(sandbox, undefined, { status: 400, body: hostileJson })
    const cwd = await sandbox.directory({})
    const subscription = ['--callback-url', SUBSCRIPTION.callbackUrl, '--secret-file', 'a.secret']
    for (const [args, environment] of [
      [['token'], refusing.env],
      [['token', '--json'], refusing.env],
      [['update-account', '1', '--name', TEXT], env],
      [['update-account', '1', '--name', TEXT, '--json'], env],
      [['subscribe', '--event-type', TEXT, '--description', TEXT, ...subscription], env],
      [['subscribe', '--event-type', TEXT, '--prepare', '--json', ...subscription.slice(0, 3), TEXT], env],
    ] as const) {
      expectHarmless(await countersign([...args], { cwd, env: environment }))
    }
  })

  it('in headers that are signed or sent', async () => {
    const env = { COUNTERSIGN_SECRET: SUBSCRIPTION.secret }
    for (const args of [
      [
        'send',
        '--print',
        '--callback-url',
        SUBSCRIPTION.callbackUrl,
        '--event-type',
        'a\u009b31m',
        '--body',
        '',
      ],
      ['send', '--print', '--callback-url', SUBSCRIPTION.callbackUrl, '--key', 'a\tb', '--body', ''],
      [
        'send',
        '--print',
        '--callback-url',
        SUBSCRIPTION.callbackUrl,
        '--timestamp',
        'a\u0085b',
        '--body',
        '',
      ],
      ['send', 'http://127.0.0.1:1/', '--event-type', 'a\u009b31m'],
      ['send', 'http://127.0.0.1:1/', '--key', ONE_LINE],
      ['send', 'http://127.0.0.1:1/', '--body-file', TEXT],
      ['send', ONE_LINE],
      ['simulate', '--show-secret', '--event-type', ONE_LINE],
    ]) {
      const ran = await countersign(args, { env })
      expect(ran.code).toBe(2)
      expectHarmless(ran)
    }
  })

  it.each(['json', 'readable'])('in the %s log', async (format) => {
    const text = JSON.stringify(TEXT)
    const cwd = await sandbox.directory({
      'countersign.config.mjs': `export default {
        subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
        handlers: { [${text}]: () => {}, onAny: () => {} },
        port: (console.error(''), 0),
        schemas: undefined,
        inbox: false,
      }`,
    })
    const serve = sandbox.serve(['--log-format', format], { cwd })
    await serve.port()
    serve.signal('SIGTERM')
    await serve.exit
    expect(serve.output).toContain('WARN_HANDLER_UNREACHABLE')
    expectHarmless({ code: 0, stdout: serve.output, stderr: '' })
  })
})

describe('tables', () => {
  const widest = (text: string) => Math.max(...text.split('\n').map(({ length }) => length))

  async function withLongType(): Promise<string> {
    const cwd = await sandbox.directory({})
    const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
    for (const type of ['transfers.book-completed', LONG]) {
      await inbox.add(createArrival({ type, suspicion: `its event type is ${type}` }))
    }
    await inbox.close()
    return cwd
  }

  it('of the inbox fit 100 columns, whatever was received', async () => {
    const { stdout } = await countersign(['inbox', 'list'], { cwd: await withLongType() })
    expect(widest(stdout)).toBeLessThanOrEqual(100)
    expect(stdout).toMatch(/^1 .* transfers\.book-completed /m)
    expect(stdout).toMatch(/^2 .* long\.long\.[^ ]*… /m)
  })

  it('of one entry go on in the next line, and lose nothing', async () => {
    const { stdout } = await countersign(['inbox', 'show', '2'], { cwd: await withLongType() })
    expect(widest(stdout)).toBeLessThanOrEqual(100)
    expect(stdout.replaceAll(/\n +/g, '')).toContain(`its event type is${LONG}`.slice(-200))
  })

  it('of replayed recordings keep their columns beside a long name', async () => {
    const cwd = await sandbox.directory({})
    for (const extension of ['http', 'json']) {
      await copyFile(join(FIXTURES, `curl.${extension}`), join(cwd, `${'n'.repeat(200)}.${extension}`))
    }
    const { stdout } = await countersign(['replay', '.', '--url', 'http://127.0.0.1:1'], { cwd })
    expect(widest(stdout)).toBeLessThanOrEqual(100)
    expect(stdout).toContain('no answer (ECONNREFUSED)')
  })

  it('of what was sent fit, with answers that are not as expected', async () => {
    const args = [
      'send',
      'http://127.0.0.1:1/',
      '--repeat',
      '--rewritten-key',
      '--other-body',
      '--expect',
      '409',
    ]
    const { stdout } = await countersign(args, { env: { COUNTERSIGN_SECRET: 'a-secret' } })
    expect(widest(stdout)).toBeLessThanOrEqual(100)
  })

  it('of a configuration fit', async () => {
    const subscription = { ...SUBSCRIPTION, eventTypeName: LONG, callbackUrl: `https://a.example/${LONG}` }
    const cwd = await sandbox.directory({
      'countersign.config.json': JSON.stringify({ subscriptions: [SUBSCRIPTION, subscription] }),
    })
    const { code, stdout } = await countersign(['serve', '--check'], { cwd })
    expect(code).toBe(0)
    expect(widest(stdout)).toBeLessThanOrEqual(100)
  })

  it('of secrets fit', async () => {
    const cwd = await withLongType()
    const subscriptions = [SUBSCRIPTION, { ...SUBSCRIPTION, eventTypeName: LONG }]
    await writeFile(join(cwd, 'countersign.config.json'), JSON.stringify({ subscriptions }))
    const { code, stdout } = await countersign(['rotate', '--status'], { cwd })
    expect(code).toBe(0)
    expect(widest(stdout)).toBeLessThanOrEqual(100)
    expect(stdout).toContain('not seen in the')
  })
})
