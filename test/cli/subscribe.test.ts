import { existsSync } from 'node:fs'
import { chmod, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  expectHarmless,
  HOSTILE,
  startFakeService,
  withoutSecrets,
  type FakeService,
} from './fake-service.js'
import { countersign, Sandbox, type Ran } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const URL = 'https://partner.example.com/hooks/transfers'
const KEY = '0b5bcbd6-4a39-4bd7-8b5a-1d4a4a3f3b10'
const TO = ['--event-type', 'transfers.book-completed', '--callback-url', URL]
const FILE = ['--secret-file', 'a.secret']

/** Runs it in a folder of its own, where nothing is but these files. */
async function subscribe(
  { env }: Pick<FakeService, 'env'>,
  args: string[],
  files: Record<string, string> = {},
): Promise<Ran & { cwd: string; read: (name: string) => Promise<string> }> {
  const cwd = await sandbox.directory(files)
  for (const name of Object.keys(files)) await chmod(join(cwd, name), 0o600)
  const ran = await countersign(['subscribe', ...TO, ...args], { cwd, env })
  return { ...ran, cwd, read: async (name) => readFile(join(cwd, name), 'utf8') }
}

function sentSecret({ calls }: FakeService): string {
  const { secretText } = JSON.parse(calls()[0]!.body) as { secretText: string }
  return Buffer.from(secretText, 'base64').toString()
}

describe('countersign subscribe', () => {
  it('does not ask with --existing-secret to add the entry that the configuration has', async () => {
    const service = await startFakeService(sandbox)
    const config = (secret: object) =>
      JSON.stringify({
        subscriptions: [{ eventTypeName: 'transfers.book-completed', callbackUrl: URL, secret }],
      })
    const files = { 'a.secret': 'a-secret-of-the-tests', 'b.secret': 'another-secret-of-the-tests' }
    const there = { ...files, 'countersign.config.json': config({ file: 'a.secret' }) }
    const ran = await subscribe(service, [...FILE, '--existing-secret'], there)
    expect(ran).toMatchObject({ code: 0, stdout: '' })
    expect(ran.stderr).toContain('The configuration has this subscription already')
    expect(ran.stderr).not.toContain('Add this entry')

    const missing = { ...files, 'countersign.config.json': config({ file: 'b.secret' }) }
    const other = await subscribe(service, [...FILE, '--existing-secret'], missing)
    expect(other.stdout).toContain("secret: { file: 'a.secret' }")
    expect(other.stderr).toContain('Add this entry')
  })

  it('keeps a new secret in a file that only its owner may read, and sends the same', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--description', 'it'], {})
    expect(ran.code).toBe(0)
    const secret = await ran.read('a.secret')
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(sentSecret(service)).toBe(secret)
    expect((await stat(join(ran.cwd, 'a.secret'))).mode & 0o777).toBe(0o600)
    expect(JSON.parse(service.calls()[0]!.body)).toMatchObject({
      eventTypeName: 'transfers.book-completed',
      callbackUrl: URL,
      description: 'it',
    })
    withoutSecrets(ran, secret)
  })

  it('prints an entry that the configuration takes, and nothing else, to standard output', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--description', `it's "it" \u202e`])
    await writeFile(
      join(ran.cwd, 'countersign.config.mjs'),
      `export default { subscriptions: [${ran.stdout}] }`,
    )
    const { stdout, code } = await countersign(['serve', '--check', '--json'], { cwd: ran.cwd })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ subscriptions: [{ callbackUrl: URL, secrets: 1 }] })
    expect(ran.stdout).toContain(`secret: { file: 'a.secret' }`)
    expectHarmless(ran)
  })

  it('prints an entry for a configuration in JSON', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--json', '--idempotency-key', KEY])
    const report = JSON.parse(ran.stdout) as { entry: object }
    expect(report).toMatchObject({
      created: true,
      status: 201,
      body: { id: 'one' },
      idempotencyKey: KEY,
      entry: { eventTypeName: 'transfers.book-completed', callbackUrl: URL, secret: { file: 'a.secret' } },
    })
    await writeFile(
      join(ran.cwd, 'countersign.config.json'),
      JSON.stringify({ subscriptions: [report.entry] }),
    )
    expect((await countersign(['serve', '--check'], { cwd: ran.cwd })).code).toBe(0)
    withoutSecrets(ran, await ran.read('a.secret'))
    expect(service.calls()[0]!.headers['x-idempotency-key']).toBe(KEY)
  })

  it('prints the secret only with --show-secret', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--show-secret'])
    expect(ran.stderr).toContain(sentSecret(service))
  })

  it.each([
    ['as it stands', 's3cret'.repeat(4)],
    ['without the line end of an editor', `${'s3cret'.repeat(4)}\n`],
  ])('takes an existing secret %s', async (_, content) => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--existing-secret'], { 'a.secret': content })
    expect(ran.code).toBe(0)
    expect(sentSecret(service)).toBe('s3cret'.repeat(4))
    expect(await ran.read('a.secret')).toBe(content)
    withoutSecrets(ran, 's3cret'.repeat(4))
  })

  it('sends nothing with --prepare, and the kept secret afterwards', async () => {
    const service = await startFakeService(sandbox)
    const prepared = await subscribe({ env: {} }, [...FILE, '--prepare'])
    expect(prepared).toMatchObject({ code: 0, stdout: expect.stringContaining('a.secret') })
    expect(service.requests).toEqual([])
    const { cwd } = prepared
    await countersign(['subscribe', ...TO, ...FILE, '--existing-secret'], { cwd, env: service.env })
    expect(sentSecret(service)).toBe(await prepared.read('a.secret'))
  })
})

describe('a secret in a file', () => {
  it('is never overwritten, and then nothing is sent', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, FILE, { 'a.secret': 'precious' })
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is not overwritten') })
    expect(await ran.read('a.secret')).toBe('precious')
    expect(service.requests).toEqual([])
  })

  it('is not written through a link', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory({})
    await symlink(join(cwd, 'elsewhere'), join(cwd, 'a.secret'))
    expect((await countersign(['subscribe', ...TO, ...FILE], { cwd, env: service.env })).code).toBe(2)
    expect(existsSync(join(cwd, 'elsewhere'))).toBe(false)
  })

  it('must be possible before anything is sent', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, ['--secret-file', 'no/such/folder/a.secret'])
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOENT') })
    expect(service.requests).toEqual([])
  })

  it('is on the disk before anything is sent', async () => {
    const cwd = await sandbox.directory({})
    const there: boolean[] = []
    const { env } = await startFakeService(sandbox, () => {
      there.push(existsSync(join(cwd, 'a.secret')))
      return { status: 201 }
    })
    await countersign(['subscribe', ...TO, ...FILE], { cwd, env })
    expect(there).toEqual([true])
  })
})

describe('a secret in an env file', () => {
  const ENV = ['--secret-env', 'TRANSFERS_SECRET']

  it('is a new line of a new file that only its owner may read', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, ENV)
    expect(ran).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`secret: { env: 'TRANSFERS_SECRET' }`),
    })
    expect(await ran.read('.env')).toBe(`TRANSFERS_SECRET=${sentSecret(service)}\n`)
    expect((await stat(join(ran.cwd, '.env'))).mode & 0o777).toBe(0o600)
    withoutSecrets(ran, sentSecret(service))
  })

  it.each(['A=1\n', 'A=1', '# a comment\n\nA="1"\nB=2'])(
    'leaves the lines that are there: %j',
    async (before) => {
      const service = await startFakeService(sandbox)
      const ran = await subscribe(service, ENV, { '.env': before })
      expect(await ran.read('.env')).toBe(
        `${before}${before.endsWith('\n') ? '' : '\n'}TRANSFERS_SECRET=${sentSecret(service)}\n`,
      )
    },
  )

  it('is what serve then reads', async () => {
    const service = await startFakeService(sandbox)
    const { cwd, stdout } = await subscribe(service, [...ENV, '--append-to', 'secrets.env'])
    await writeFile(join(cwd, 'countersign.config.mjs'), `export default { subscriptions: [${stdout}] }`)
    const args = ['serve', '--check', '--env-file', 'secrets.env']
    expect((await countersign(args, { cwd })).code).toBe(0)
  })

  it('is used with --existing-secret', async () => {
    const service = await startFakeService(sandbox)
    const files = { '.env': 'TRANSFERS_SECRET=the-one-that-is-there\n' }
    const ran = await subscribe(service, [...ENV, '--existing-secret'], files)
    expect(ran.code).toBe(0)
    expect(sentSecret(service)).toBe('the-one-that-is-there')
    expect(await ran.read('.env')).toBe(files['.env'])
  })

  it.each([
    ['a name that is there', 'TRANSFERS_SECRET=precious\n', 'is not overwritten'],
    ['a name that is there, exported', 'export TRANSFERS_SECRET=precious\n', 'is not overwritten'],
  ])('is refused for %s, and nothing is sent', async (_, before, message) => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, ENV, { '.env': before })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    expect(await ran.read('.env')).toBe(before)
    expect(service.requests).toEqual([])
  })

  it('is refused where others may read the file', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory({ '.env': 'A=1\n' })
    await chmod(join(cwd, '.env'), 0o644)
    const ran = await countersign(['subscribe', ...TO, ...ENV], { cwd, env: service.env })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('"chmod 600 .env" first') })
    expect(service.requests).toEqual([])
  })

  it('is refused where the environment would win over it', async () => {
    const { env } = await startFakeService(sandbox)
    const ran = await subscribe({ env: { ...env, TRANSFERS_SECRET: 'another-secret' } }, ENV)
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('is set in the environment') })
    withoutSecrets(ran, 'another-secret')
    expect(await readdir(ran.cwd)).toEqual([])
  })
})

describe('when the subscription is not created', () => {
  it.each([400, 401, 409, 500, 302])(
    'by a status of %d, it says what was kept and how to repeat',
    async (status) => {
      const service = await startFakeService(sandbox, () => ({ status, body: '{"reason":"not today"}' }))
      const ran = await subscribe(service, [...FILE, '--idempotency-key', KEY])
      expect(ran).toMatchObject({ code: 1, stdout: '' })
      const secret = await ran.read('a.secret')
      const output = withoutSecrets(ran, secret)
      expect(output).toContain(`the service answered ${status}: {"reason":"not today"}`)
      expect(output).toContain('the secret is kept in the file a.secret')
      expect(output).toContain(`--existing-secret --idempotency-key ${KEY}`)
      expect(new Set(service.calls().map(({ headers }) => headers['x-idempotency-key']))).toEqual(
        new Set([KEY]),
      )
    },
  )

  it.each([
    [400, 'it was not created'],
    [503, 'whether it was created is not known'],
  ])('claims by a status of %d no more than is known', async (status, said) => {
    const service = await startFakeService(sandbox, () => ({ status }))
    const ran = await subscribe(service, FILE)
    expect(ran.stderr).toContain(`countersign: ${said}: the service answered ${status}\n`)
    const json = await subscribe(service, [...FILE, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ created: false, mayBeCreated: status === 503, status })
  })

  it.each([[['cut', 409]], [['cut', 400]], [['cut', 401]], [['cut', 429]], [[503, 400]]] as const)(
    'does not take a refusal of the repeat for an answer to the first request: %j',
    async (answers) => {
      const service = () =>
        startFakeService(sandbox, (_request, count) => {
          const answer = answers[count - 1] ?? answers[1]
          return answer === 'cut' ? answer : { status: answer, body: '{"reason":"refused"}' }
        })
      const ran = await subscribe(await service(), FILE)
      expect(ran.code).toBe(1)
      expect(ran.stderr).toContain('countersign: whether it was created is not known: the service answered 4')
      expect(ran.stderr).toContain(
        answers[1] === 409 ? 'a conflict may mean' : 'an earlier one may have created',
      )
      expect(ran.stderr).not.toContain('it was not created')
      const json = await subscribe(await service(), [...FILE, '--json'])
      expect(json.code).toBe(1)
      expect(JSON.parse(json.stdout)).toMatchObject({ created: false, mayBeCreated: true })
    },
  )

  it.each([400, 409, 500])(
    'does not take %d for an answer to the request that it repeats',
    async (status) => {
      const service = await startFakeService(sandbox, () => ({ status }))
      const repeat = [...FILE, '--existing-secret', '--idempotency-key', KEY]
      const ran = await subscribe(service, repeat, { 'a.secret': 's3cret'.repeat(4) })
      expect(ran).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('whether it was created is not known'),
      })
      const json = await subscribe(service, [...repeat, '--json'], { 'a.secret': 's3cret'.repeat(4) })
      expect(JSON.parse(json.stdout)).toMatchObject({ created: false, mayBeCreated: true, status })
    },
  )

  it('knows that it was not, where the request never left', async () => {
    const { env } = await startFakeService(sandbox)
    const ran = await subscribe({ env: { ...env, COUNTERSIGN_BASE_URL: 'http://127.0.0.1:1' } }, FILE)
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('countersign: it was not created') })
  })

  it('says how long the service asks to wait, where it gives no token', async () => {
    const service = await startFakeService(sandbox, undefined, {
      status: 429,
      headers: { 'Retry-After': '120' },
    })
    const json = await subscribe(service, [...FILE, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      created: false,
      mayBeCreated: false,
      code: 'ERR_SERVICE_RESPONSE',
      retryAfterMs: 120_000,
    })
    expect((await subscribe(service, FILE)).stderr).toContain('Try again in 120 s')
  })

  it('repeats with the same key and the same secret', async () => {
    const bodies: string[] = []
    const service = await startFakeService(sandbox, ({ body }) => {
      bodies.push(body)
      return { status: 400 }
    })
    const first = await subscribe(service, FILE)
    const [repeat] = /--existing-secret --idempotency-key \S+/.exec(first.stderr)!
    const { cwd } = first
    await countersign(['subscribe', ...TO, ...FILE, ...repeat.split(' ')], { cwd, env: service.env })
    const keys = service.calls().map(({ headers }) => headers['x-idempotency-key'])
    expect(keys).toHaveLength(2)
    expect(keys[0]).toBe(keys[1])
    expect(bodies[0]).toBe(bodies[1])
  })

  it('as the service does not answer in time, it says that nobody knows', async () => {
    const service = await startFakeService(sandbox, () => 'hang')
    const ran = await subscribe(service, [...FILE, '--timeout-ms', '100'])
    expect(ran.code).toBe(1)
    expect(withoutSecrets(ran, await ran.read('a.secret'))).toContain('whether it was created is not known')
  })

  it('as the credentials are refused, the secret is kept all the same', async () => {
    const service = await startFakeService(sandbox, undefined, { status: 400, body: '{}' })
    const ran = await subscribe(service, [...FILE, '--json'])
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({
      created: false,
      mayBeCreated: false,
      code: 'ERR_TOKEN_REFUSED',
      keptIn: { file: 'a.secret' },
      repeatWith: expect.stringContaining('--existing-secret --idempotency-key '),
    })
    withoutSecrets(ran, await ran.read('a.secret'))
  })

  it.each([[[]], [['--json']]])('an answer that repeats the request gives nothing away: %j', async (args) => {
    for (const status of [201, 400]) {
      const service = await startFakeService(sandbox, ({ body, headers }) => ({
        status,
        body: JSON.stringify({ body, sent: JSON.parse(body) as object, headers, HOSTILE }),
      }))
      const ran = await subscribe(service, [...FILE, ...args])
      withoutSecrets(ran, await ran.read('a.secret'))
      expectHarmless(ran)
    }
  })
})

describe('wrong usage of subscribe', () => {
  it.each([
    [[], 'no place for the secret'],
    [[...FILE, '--secret-env', 'A'], 'cannot be used with'],
    [['--secret-env', 'A-B'], 'Use letters, digits and underscores'],
    [[...FILE, '--idempotency-key', 'one'], 'Use a UUID'],
    [[...FILE, '--callback-url', 'https://X.example.com'], 'must be spelled "https://x.example.com/"'],
    [[...FILE, '--event-type', ''], 'It must not be empty'],
    [[...FILE, '--event-type', 'a\nb'], 'no HTTP header can carry'],
    [[...FILE, '--event-type', ' a'], 'white space around it'],
    [[...FILE, '--event-type', '€'], 'no HTTP header can carry'],
    [[...FILE, '--event-type', 'a'.repeat(2_000)], 'use at most 1024'],
    [[...FILE, '--prepare', '--event-type', 'a\u0001'], 'no HTTP header can carry'],
    [[...FILE, '--existing-secret'], 'cannot read the secret file'],
    [[...FILE, '--client-id', 'no-uuid'], '--client-id: clientId is'],
  ])('sends nothing, leaves nothing behind and ends with 2: %j', async (args, message) => {
    const service = await startFakeService(sandbox)
    const { code, stdout, stderr, cwd } = await subscribe(service, args)
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
    expect(await readdir(cwd)).toEqual([])
    expect(service.requests).toEqual([])
  })
})
