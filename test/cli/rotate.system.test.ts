import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { deliver, SUBSCRIPTION } from './configured.js'
import { spellingsOf, startFakeService, withoutSecrets } from './fake-service.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const OLD = SUBSCRIPTION.secret
const { secret: _, ...PUBLIC } = SUBSCRIPTION
const FILE = ['--secret-file', 'new.secret']
const CONFIG = 'countersign.config.json'

function config(secret: unknown, ...more: object[]): Record<string, string> {
  return {
    [CONFIG]: JSON.stringify({ subscriptions: [{ ...PUBLIC, secret }, ...more], handlers: {} }),
    'old.secret': OLD,
  }
}

interface Status {
  entries: number
  secrets: { subscription: string; secret: string; problem?: string; last?: { signedAt: string } | null }[]
}

async function status(cwd: string, env: Record<string, string> = {}): Promise<Status> {
  const ran = await countersign(['rotate', '--status', '--json'], { cwd, env })
  withoutSecrets(ran, OLD, 'query-token')
  return JSON.parse(ran.stdout) as Status
}

/** These files, and the inbox of a receiver that runs and has stored one callback that was signed with the old secret. */
async function received(files: Record<string, string>): Promise<string> {
  const cwd = await sandbox.directory(files)
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  const { port } = await runInboxReceiver({ subscriptions: [SUBSCRIPTION], inbox })
  expect(await deliver(port, { timestamp: new Date('2026-11-03T09:14:27Z') })).toEqual({ status: 200 })
  return cwd
}

describe('countersign rotate', () => {
  it('creates a subscription with a new secret, and prints the entry with both', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory(config({ file: 'old.secret' }))
    const ran = await countersign(['rotate', ...FILE], { cwd, env: service.env })
    expect(ran.code).toBe(0)
    expect(ran.stderr).toContain(
      'Until then it answers 401 to callbacks that are signed with the new secret.',
    )
    expect(ran.stdout).toContain(`secret: [{ file: 'new.secret' }, { file: 'old.secret' }]`)
    const secret = await readFile(join(cwd, 'new.secret'), 'utf8')
    const { secretText, ...sent } = JSON.parse(service.calls()[0]!.body) as { secretText: string }
    expect(sent).toEqual(PUBLIC)
    expect(Buffer.from(secretText, 'base64').toString()).toBe(secret)
    withoutSecrets(ran, OLD, secret)
    await writeFile(join(cwd, 'countersign.config.mjs'), `export default { subscriptions: [${ran.stdout}] }`)
    const checked = await countersign(['serve', '--check', '--config', 'countersign.config.mjs'], { cwd })
    expect(checked.stdout).toContain('2 secrets')
  })

  it.each([409, 400])('does not take %d for an answer to a request whose answer was lost', async (status) => {
    const service = await startFakeService(sandbox, (_request, count) => (count === 1 ? 'cut' : { status }))
    const cwd = await sandbox.directory(config({ file: 'old.secret' }))
    const ran = await countersign(['rotate', ...FILE, '--json'], { cwd, env: service.env })
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({ created: false, mayBeCreated: true, status })
  })

  it('prints no secret, the old one included, whatever the service answers', async () => {
    const service = await startFakeService(sandbox, ({ body }) => ({
      status: 400,
      body: JSON.stringify({ body, old: spellingsOf(OLD) }),
    }))
    const cwd = await sandbox.directory(config({ file: 'old.secret' }))
    const ran = await countersign(['rotate', ...FILE], { cwd, env: service.env })
    withoutSecrets(ran, OLD, await readFile(join(cwd, 'new.secret'), 'utf8'))
  })

  it('refuses an event type that no header can carry, and leaves nothing behind', async () => {
    const service = await startFakeService(sandbox)
    const subscription = { ...PUBLIC, eventTypeName: 'a\nb', secret: { file: 'old.secret' } }
    const cwd = await sandbox.directory({
      [CONFIG]: JSON.stringify({ subscriptions: [subscription], handlers: {} }),
      'old.secret': OLD,
    })
    const ran = await countersign(['rotate', ...FILE], { cwd, env: service.env })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('no HTTP header can carry') })
    expect(existsSync(join(cwd, 'new.secret'))).toBe(false)
    expect(service.requests).toEqual([])
  })

  it('loses nothing: prepared, deployed with both, then created', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory(config({ file: 'old.secret' }))
    const prepared = await countersign(['rotate', ...FILE, '--prepare', '--json'], { cwd })
    const { entry, next } = JSON.parse(prepared.stdout) as { entry: object; next: string[] }
    expect(next[0]).toMatch(/restart the receiver\.$/)
    await writeFile(join(cwd, CONFIG), JSON.stringify({ subscriptions: [entry], handlers: {} }))
    const port = await sandbox.serve([], { cwd }).port()
    const created = await countersign(['rotate', ...FILE, '--existing-secret', '--json'], {
      cwd,
      env: service.env,
    })
    // The entry has the new one already: it is not listed twice.
    expect(JSON.parse(created.stdout)).toMatchObject({ created: true, entry })
    const secret = await readFile(join(cwd, 'new.secret'), 'utf8')
    for (const each of [OLD, secret]) {
      expect(await deliver(port, { subscription: { ...PUBLIC, secret: each } })).toEqual({ status: 200 })
    }
    expect((await status(cwd)).secrets).toMatchObject([
      { secret: 'file new.secret', last: {} },
      { secret: 'file old.secret', last: {} },
    ])
  })

  it('says when the old secret was last used, while the receiver runs', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await received(config({ file: 'old.secret' }))
    const ran = await countersign(['rotate', ...FILE], { cwd, env: service.env })
    expect(ran.stderr).toContain('the old secret, file old.secret: last signed 2026-11-03T09:14:27.000Z')
    expect(ran.stderr).toContain(`Replace subscriptions[0] with this entry`)
  })

  it('does without an inbox, and without the old secret', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory(config({ env: 'NOT_THERE' }))
    const ran = await countersign(['rotate', ...FILE], { cwd, env: service.env })
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('there is no inbox') })
    expect(ran.stdout).toContain(`[{ file: 'new.secret' }, { env: 'NOT_THERE' }]`)
  })

  it('does not print an old secret that stands in the configuration, and prints nothing that would drop it', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory(config(OLD))
    for (const args of [FILE, ['--secret-file', 'newer.secret', '--json']]) {
      const ran = await countersign(['rotate', ...args], { cwd, env: service.env })
      expect(withoutSecrets(ran, OLD)).toContain('<what stands here now>')
      const entry = args.includes('--json')
        ? JSON.stringify((JSON.parse(ran.stdout) as { entry: object }).entry)
        : ran.stdout
      await writeFile(join(cwd, 'pasted.mjs'), `export default { subscriptions: [${entry}] }`)
      expect((await countersign(['serve', '--check', '--config', 'pasted.mjs'], { cwd })).code).toBe(2)
    }
  })

  it('names the file as the configuration will look for it', async () => {
    const service = await startFakeService(sandbox)
    const there = await sandbox.directory(config({ file: 'old.secret' }))
    const args = ['rotate', '--config', join(there, CONFIG), '--secret-file', join(there, 'new.secret')]
    const { stdout } = await countersign(args, { cwd: await sandbox.directory({}), env: service.env })
    expect(stdout).toContain(`[{ file: 'new.secret' }, { file: 'old.secret' }]`)
  })

  it('works without a configuration, by event type and callback URL', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory({})
    const to = ['--event-type', 'a.b', '--callback-url', 'https://partner.example.com/']
    const ran = await countersign(['rotate', ...FILE, ...to], { cwd, env: service.env })
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('<what stands here now>') })
  })

  it('says what was kept when the service refuses', async () => {
    const service = await startFakeService(sandbox, () => ({ status: 400 }))
    const cwd = await sandbox.directory(config({ file: 'old.secret' }))
    const ran = await countersign(['rotate', ...FILE], { cwd, env: service.env })
    expect(ran).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr).toMatch(/the secret is kept in the file new\.secret[^]*--existing-secret --key/)
  })

  const OTHER = {
    eventTypeName: 'accounts.closed',
    callbackUrl: 'https://x.example.com/?a=query-token',
    secret: 'another',
  }

  it.each<[Record<string, string>, string[], string]>([
    [config(OLD, OTHER), FILE, 'which subscription? Use --event-type and --callback-url'],
    [config(OLD), [...FILE, '--event-type', 'other'], 'has no such subscription'],
    [{}, FILE, 'which subscription? Use --event-type and --callback-url, or name a --config'],
    [{}, ['--status'], '--status needs a configuration'],
    [config(OLD), ['--status'], 'there is no inbox'],
    [
      config(OLD),
      ['--status', ...FILE],
      "option '--status' cannot be used with option '--secret-file <file>'",
    ],
    [config(OLD), ['--status', '--prepare'], "option '--status' cannot be used with option '--prepare'"],
    [config(OLD), [], 'no place for the secret'],
    [
      config({ file: 'old.secret' }),
      ['--secret-file', 'old.secret', '--existing-secret'],
      'subscriptions[0] already has the secret',
    ],
    [config(OLD), ['--secret-file', 'old.secret', '--existing-secret'], 'already has'],
    [
      { 'countersign.config.mjs': 'export default { subscriptions: () => [] }' },
      ['--status'],
      'subscriptions is a function',
    ],
    [
      { [CONFIG]: '{"subscriptions":[{"eventTypeName":"a","callbackUrl":"x"}]}' },
      ['--status'],
      'not an absolute URL',
    ],
  ])('ends with 2 and sends nothing: %#', async (files, args, message) => {
    const service = await startFakeService(sandbox)
    const ran = await countersign(['rotate', ...args], {
      cwd: await sandbox.directory(files),
      env: service.env,
    })
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
    withoutSecrets(ran, OLD, 'query-token')
    expect(service.requests).toEqual([])
  })
})

it.each([
  [{ env: 'OLD_SECRET' }, ['--secret-env', 'OLD_SECRET']],
  [{ file: 'old.secret' }, ['--secret-file', 'old.secret']],
])(
  'writes no new secret under the name of the old one, which could not be read: %j',
  async (secret, args) => {
    const cwd = await sandbox.directory({ [CONFIG]: config(secret)[CONFIG]! })
    const ran = await countersign(['rotate', '--prepare', ...args], { cwd })
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('subscriptions[0] already has the secret'),
    })
    expect(await readdir(cwd)).toEqual([CONFIG])
  },
)

describe('countersign rotate --status', () => {
  it('says of each secret when it was last used, by the name that the configuration gives it', async () => {
    const cwd = await received({
      ...config([{ file: 'new.secret' }, { file: 'old.secret' }, 'some-other-text']),
      'new.secret': 'the-new-secret',
    })
    expect(await status(cwd)).toMatchObject({
      entries: 1,
      secrets: [
        // printf 'countersign secret fingerprint 1' | openssl dgst -sha256 -hmac the-new-secret | cut -c 18-29
        {
          subscription: 'subscriptions[0]',
          secret: 'file new.secret',
          fingerprint: '195e4667b3e8',
          last: null,
        },
        {
          secret: 'file old.secret',
          fingerprint: 'fbcef975b794',
          last: { signedAt: '2026-11-03T09:14:27.000Z', entryId: '1' },
        },
        { secret: 'secret[2]', last: null },
      ],
    })
    const ran = await countersign(['rotate', '--status'], { cwd })
    expect(withoutSecrets(ran, OLD, 'the-new-secret', 'some-other-text')).toMatch(
      /file old\.secret +last signed 2026-11-03T09:14:27\.000Z \(entry 1\); fingerprint fbcef975b794\n/,
    )
    expect(ran.stdout).toMatch(
      /file new\.secret +not seen in the 1 entry there are; fingerprint 195e4667b3e8\n/,
    )
  })

  it('says which secret it does not have', async () => {
    const cwd = await received(config({ file: 'old.secret' }))
    await writeFile(join(cwd, CONFIG), config([{ env: 'NOT_THERE' }, { text: OLD }])[CONFIG]!)
    expect((await status(cwd)).secrets).toMatchObject([
      { secret: 'variable NOT_THERE', problem: 'the environment variable NOT_THERE is not set' },
      { secret: 'secret[1]', problem: expect.stringContaining('write the secret text') },
    ])
  })

  it('needs no credentials of the service, and ends with 1 where the inbox cannot be read', async () => {
    const cwd = await sandbox.directory({ ...config(OLD), 'callbacks.db': 'no database, but of some length' })
    const ran = await countersign(['rotate', '--status'], { cwd })
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is damaged, or not a file of SQLite'),
    })
  })
})
