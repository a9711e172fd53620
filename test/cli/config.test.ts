import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.js'
import { SUBSCRIPTION } from './configured.js'
import { countersign, countersignProcess, Sandbox, type Ran } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const { secret, ...PUBLIC } = SUBSCRIPTION
const JSON_FILE = 'countersign.config.json'
const MJS_FILE = 'countersign.config.mjs'

interface Checked {
  valid: boolean
  message?: string
  listen: { host: string; port: number }
  limits: Record<string, number>
  subscriptions: { callbackUrl: string; secrets: number; handled: boolean }[]
  handlers: { types: string[]; any: boolean; unhandled: boolean }
  warnings: { code: string }[]
}

type Env = Record<string, string>

async function check(
  files: Record<string, string>,
  args: string[] = [],
  env: Env = {},
): Promise<Ran & { cwd: string }> {
  const cwd = await sandbox.directory(files)
  return { ...(await countersign(['serve', '--check', ...args], { cwd, env })), cwd }
}

async function checked(config: object, args: string[] = [], env: Env = {}): Promise<Checked> {
  const { stdout } = await check({ [JSON_FILE]: JSON.stringify(config) }, ['--json', ...args], env)
  return JSON.parse(stdout) as Checked
}

/** The message of a configuration that has to be refused, after the name of the program. */
async function refusal(files: Record<string, string>, args: string[] = [], env: Env = {}): Promise<string> {
  const { code, stdout, stderr } = await check(files, args, env)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^countersign: .*\n$/)
  return stderr.slice('countersign: '.length)
}

const json = (config: object) => ({
  [JSON_FILE]: JSON.stringify({ subscriptions: [SUBSCRIPTION], ...config }),
})

describe('precedence', () => {
  it('takes the defaults where nothing is set', async () => {
    const { listen, limits } = await checked({ subscriptions: [SUBSCRIPTION] })
    expect(listen).toEqual({ host: '127.0.0.1', port: 3000 })
    expect(limits).toMatchObject({ toleranceMs: 86_400_000, maxBodyBytes: 1_048_576, bodyTimeoutMs: 10_000 })
  })

  it('is flag, then environment, then file', async () => {
    const config = { subscriptions: [SUBSCRIPTION], host: 'file', port: 1, toleranceMs: 1, maxBodyBytes: 1 }
    const env = { COUNTERSIGN_HOST: 'environment', COUNTERSIGN_PORT: '2', COUNTERSIGN_TOLERANCE_MS: '2' }
    const { listen, limits } = await checked(config, ['--host', 'flag'], env)
    expect(listen).toEqual({ host: 'flag', port: 2 })
    expect(limits).toMatchObject({ toleranceMs: 2, maxBodyBytes: 1 })
  })

  it('counts an empty variable as not set', async () => {
    const { listen } = await checked({ subscriptions: [SUBSCRIPTION], port: 1 }, [], { COUNTERSIGN_PORT: '' })
    expect(listen.port).toBe(1)
  })

  it('takes the file of COUNTERSIGN_CONFIG, unless --config names another', async () => {
    const files = { 'a.json': JSON.stringify({ subscriptions: [SUBSCRIPTION] }), 'b.json': '{' }
    const env = { COUNTERSIGN_CONFIG: 'b.json' }
    expect((await check(files, ['--config', 'a.json'], env)).code).toBe(0)
    expect(await refusal(files, [], env)).toContain('b.json is not JSON')
  })

  it('lets the environment win over --env-file', async () => {
    const files = { ...json({}), '.env': 'COUNTERSIGN_PORT=1\nCOUNTERSIGN_HOST="from the file"\n' }
    const { stdout } = await check(files, ['--json', '--env-file', '.env'], { COUNTERSIGN_PORT: '2' })
    expect((JSON.parse(stdout) as Checked).listen).toEqual({ host: 'from the file', port: 2 })
  })

  it('has what is in --env-file ready when the file is loaded', async () => {
    const config = `export default { subscriptions: [{ ...${JSON.stringify(PUBLIC)}, secret: process.env.SECRET }] }`
    const { code } = await check({ [MJS_FILE]: config, '.env': `SECRET=${secret}` }, ['--env-file', '.env'])
    expect(code).toBe(0)
  })
})

describe('secrets', () => {
  const files = (secrets: unknown) => json({ subscriptions: [{ ...PUBLIC, secret: secrets }] })

  it('come from the environment and from files, one or several', async () => {
    const all = {
      ...files([{ env: 'SECRET' }, { file: 'secret.txt' }, 'as it is']),
      'secret.txt': `${secret}\n`,
    }
    const { stdout, code } = await check(all, ['--json'], { SECRET: secret })
    const { subscriptions, warnings } = JSON.parse(stdout) as Checked
    expect({ code, secrets: subscriptions[0]!.secrets }).toEqual({ code: 0, secrets: 3 })
    // The line end that an editor adds is no part of the secret.
    expect(warnings.map((warning) => warning.code)).not.toContain('WARN_SECRET_HAS_WHITE_SPACE')
  })

  it.each([
    [{ env: 'SECRET' }, 'subscriptions[0].secret: the environment variable SECRET is not set.'],
    [
      { file: 'none.txt' },
      /subscriptions\[0\]\.secret: cannot read the secret file .*none\.txt \(ENOENT\)\.$/,
    ],
    [{ file: 'empty.txt' }, /subscriptions\[0\]\.secret: the secret file .*empty\.txt is empty\.$/],
    [
      ['x', { evn: 'A' }],
      'subscriptions[0].secret[1]: write the secret text, { "env": "NAME" } or { "file": "PATH" }.',
    ],
    ['', 'subscriptions[0]: secret must not be empty. Is the environment variable set?'],
    [{ env: 'EMPTY' }, /subscriptions\[0\]\.secret: the environment variable EMPTY is empty\.$/],
  ])('are refused where they are not there: %j', async (wrong, message) => {
    const text = await refusal({ ...files(wrong), 'empty.txt': '\n' }, [], { EMPTY: '' })
    expect(text.trimEnd()).toMatch(
      typeof message === 'string'
        ? `${JSON_FILE}: ${message}`
        : new RegExp(`^${JSON_FILE}: ${message.source}`),
    )
  })
})

describe('a configuration error names the place, the value and the cure', () => {
  it.each<[string, Record<string, string>, string | RegExp]>([
    [
      'no file',
      {},
      /^there is no countersign\.config\.mjs or countersign\.config\.json in .*: write one, or name one/,
    ],
    ['two files', { [MJS_FILE]: '', [JSON_FILE]: '{}' }, /^both .* name one with --config\.$/],
    [
      'an unknown option',
      json({ tolerance: 1 }),
      /json has no option "tolerance"\. Its options are host, port, .*toleranceMs/,
    ],
    [
      'a wrong limit',
      json({ leaseMs: 0 }),
      `${JSON_FILE}: leaseMs is 0: use a whole number from 1 to 2147483647.`,
    ],
    [
      'a wrong server option',
      json({ maxConnections: -1 }),
      /json: maxConnections is -1: use a whole number from 1/,
    ],
    [
      'a wrong host',
      json({ host: 7 }),
      `${JSON_FILE}: host is 7: use a host name or address, such as "127.0.0.1".`,
    ],
    [
      'a wrong level',
      json({ logLevel: 'loud' }),
      `${JSON_FILE}: logLevel is "loud": use one of fatal, error, warn, info, debug, trace, silent.`,
    ],
    [
      'an inbox',
      json({ inbox: 5 }),
      /json: inbox is 5: write \{ file: "callbacks\.db" \}, .*, or false for none\.$/,
    ],
    [
      'an option that an inbox does not have',
      json({ inbox: { file: 'a.db', retention: 5 } }),
      /json: inbox has no option "retention"\. Its options are file, retentionMs/,
    ],
    [
      'an option that needs an inbox, without one',
      json({ inbox: false, concurrency: 5 }),
      /json: concurrency is 5: it has no effect without an inbox: leave it out\.$/,
    ],
    [
      'no subscriptions',
      { [JSON_FILE]: '{}' },
      /json: subscriptions is undefined: pass a list of at least one/,
    ],
    [
      'a handler that is none',
      json({ handlers: { x: 'y' } }),
      `${JSON_FILE}: handlers["x"] is "y": pass a function.`,
    ],
    [
      'no handlers module',
      json({ handlers: './none.mjs' }),
      /json: handlers module \.\/none\.mjs does not exist \(.*none\.mjs\)\.$/,
    ],
    [
      'a handlers module without handlers',
      { ...json({ handlers: './h.mjs' }), 'h.mjs': 'export const other = 1' },
      /has to export an object of functions by event type, or a function, as default or as "handlers"\.$/,
    ],
    [
      'a handlers function that throws',
      {
        [MJS_FILE]: `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], handlers: (r) => r.on('x', 7) }`,
      },
      /mjs: the handlers function threw: on\("x"\): the handler must be a function\.$/,
    ],
    [
      'no default export',
      { [MJS_FILE]: 'export const config = {}' },
      /^countersign\.config\.mjs has no default export: write/,
    ],
    [
      'a syntax error',
      { [MJS_FILE]: 'export default {\n,' },
      /^countersign\.config\.mjs cannot be loaded: SyntaxError: .* \(\/.*\/countersign\.config\.mjs:2\)$/,
    ],
    [
      'a file that throws',
      { [MJS_FILE]: 'throw new Error("no database")' },
      'countersign.config.mjs cannot be loaded: Error: no database',
    ],
    [
      'metrics on the address of the callbacks',
      json({ port: 4000, admin: { port: 4000 } }),
      `${JSON_FILE}: admin: port is 4000: use another port, because port is 4000 as well.`,
    ],
    [
      'metrics on the port of the callbacks, on every address',
      json({ host: '0.0.0.0', port: 4000, admin: { port: 4000 } }),
      /use another port, because port is 4000 as well\.$/,
    ],
  ])('%s', async (_what, files, message) => {
    const text = (await refusal(files)).trimEnd()
    if (typeof message === 'string') expect(text).toBe(message)
    else expect(text).toMatch(message)
  })

  it.each<[string[], Env, string]>([
    [
      ['--tolerance-ms', '90071992547409920'],
      {},
      "option '--tolerance-ms <number>' argument '90071992547409920' is invalid",
    ],
    [['--port', '65536'], {}, '--port: port is 65536: use a whole number from 0 to 65535.'],
    [
      [],
      { COUNTERSIGN_PORT: '65536' },
      'COUNTERSIGN_PORT: port is 65536: use a whole number from 0 to 65535.',
    ],
    [
      ['--admin-port', '3000'],
      {},
      '--admin-port: admin: port is 3000: use another port, because port is 3000',
    ],
    [[], { COUNTERSIGN_PORT: 'http' }, 'COUNTERSIGN_PORT: port is "http": use a whole number.'],
    [[], { COUNTERSIGN_LOG_LEVEL: 'loud' }, 'COUNTERSIGN_LOG_LEVEL: logLevel is "loud": use one of'],
    [['--json', '--no-such'], {}, "unknown option '--no-such'"],
  ])('that was set outside the file: %j %j', async (args, env, message) => {
    const { code, stderr } = await check(json({}), args, env)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })

  it('that has an admin which is no object, with the file as its origin, although a flag sets the port', async () => {
    const text = await refusal(json({ admin: '9464' }), ['--admin-port', '9465'])
    expect(text).toBe(`${JSON_FILE}: admin: options is of type string: pass one object with named options.\n`)
  })

  it('that waits for a promise that never settles', async () => {
    const cwd = await sandbox.directory({ [MJS_FILE]: 'await new Promise(() => {})' })
    expect(await countersignProcess(['serve', '--check'], { cwd })).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^countersign: a promise of the configuration .* never settled/),
    })
  })

  it('without the text of a file that is not JSON, as a secret may be in it', async () => {
    const text = await refusal({ [JSON_FILE]: `{ "subscriptions": [{ "secret": "${secret}" ]` })
    expect(text).toMatch(/^countersign\.config\.json is not JSON( \(line 1\))?\.\n$/)
  })

  // Node takes --env-file for its own, and ends with 9 and a message of its own (nodejs/node#54232).
  it('that --env has no file', async () => {
    const { code, stderr } = await check(json({}), ['--env', 'none.env'])
    const message = 'countersign: --env: cannot read none.env (ENOENT): name a file that is there.\n'
    expect({ code, stderr }).toEqual({ code: 2, stderr: message })
  })

  it('that --env names no file', async () => {
    const { code, stderr } = await check(json({}), ['--env', '.'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--env: . is no file') })
  })

  it('without a stack trace', async () => {
    const { stderr } = await check({ [MJS_FILE]: 'undefined.x' })
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('when it serves, too, and before it listens', async () => {
    const cwd = await sandbox.directory(json({ leaseMs: 0 }))
    const { code, stdout, stderr } = await countersign(['serve'], { cwd })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('leaseMs is 0')
  })
})

describe('serve --check', () => {
  it('explains a configuration without its secrets and without the queries of its URLs', async () => {
    const { code, stdout, stderr } = await check(json({ port: 1234 }))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^listen on 127\.0\.0\.1 port 1234/m)
    expect(stdout).toMatch(
      /^ {2}transfers\.book-completed {2}https:\/\/partner\.example\.com\/hooks\/transfers {2}1 secret/m,
    )
    expect(stdout).not.toContain(secret)
    expect(stdout).not.toContain('query-token')
  })

  it('says so in JSON, without them either', async () => {
    const { stdout } = await check(json({}), ['--json'])
    expect((JSON.parse(stdout) as Checked).subscriptions).toEqual([
      {
        eventTypeName: PUBLIC.eventTypeName,
        callbackUrl: 'https://partner.example.com/hooks/transfers',
        secrets: 1,
        handled: false,
      },
    ])
    expect(stdout).not.toContain(secret)
    expect(stdout).not.toContain('query-token')
  })

  it('lists what there are handlers for, and warns where there are none', async () => {
    const subscriptions = `[${JSON.stringify(SUBSCRIPTION)}, { ...${JSON.stringify(PUBLIC)}, eventTypeName: 'other', secret: 'unlike-the-other-secret' }]`
    const config = `export default { port: 0, subscriptions: ${subscriptions}, handlers: { other: () => {} } }`
    const { stdout } = await check({ [MJS_FILE]: config }, ['--json'])
    const { handlers, subscriptions: found, warnings } = JSON.parse(stdout) as Checked
    expect(handlers).toEqual({ types: ['other'], any: false, unhandled: false })
    expect(found.map(({ handled }) => handled)).toEqual([false, true])
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'WARN_HANDLER_MISSING', eventTypeName: PUBLIC.eventTypeName }),
    ])
  })

  it('warns when there is neither a handler nor an inbox', async () => {
    const subscriptions = [SUBSCRIPTION]
    const warning = expect.objectContaining({ code: 'WARN_NO_HANDLERS' })
    expect((await checked({ port: 0, subscriptions, inbox: false })).warnings).toContainEqual(warning)
    expect((await checked({ port: 0, subscriptions })).warnings).not.toContainEqual(warning)
  })

  it('passes on what the receiver warns of', async () => {
    const subscriptions = [{ ...SUBSCRIPTION, secret: Buffer.from('a secret text').toString('base64') }]
    const { warnings } = await checked({ subscriptions })
    expect(warnings.map(({ code }) => code)).toContain('WARN_SECRET_LOOKS_LIKE_BASE64')
  })

  it('says in JSON what is wrong', async () => {
    const { code, stdout } = await check(json({ leaseMs: 0 }), ['--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      code: 'ERR_OPTION_INVALID',
      message: expect.stringContaining('leaseMs is 0'),
    })
  })

  it('does not go on listening', async () => {
    const files = {
      [MJS_FILE]: `setInterval(() => {}, 1_000); export default { port: 0, subscriptions: [${JSON.stringify(SUBSCRIPTION)}] }`,
    }
    const cwd = await sandbox.directory(files)
    expect((await countersignProcess(['serve', '--check'], { cwd })).code).toBe(0)
  })
})

describe('serve --check tries what serve needs', () => {
  /** Nothing of this is said to be valid, nor does serve start with it. */
  async function expectRefused(cwd: string, message: string, expectedCode = 2): Promise<void> {
    const { code, stdout, stderr } = await countersign(['serve', '--check'], { cwd })
    expect({ code, stdout, stderr }).toEqual({
      code: expectedCode,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
    const asJson = await countersign(['serve', '--check', '--json'], { cwd })
    expect(asJson.code).toBe(expectedCode)
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      valid: false,
      message: expect.stringContaining(message),
    })
    expect((await countersign(['serve'], { cwd })).code).toBe(expectedCode)
  }

  const configured = (config: object) => sandbox.directory(json({ port: 0, ...config }))

  it('the directory of the inbox, which leaves nothing behind', async () => {
    await expectRefused(await configured({ inbox: 'none/callbacks.db' }), 'cannot be opened, read or written')
    const cwd = await configured({})
    expect((await countersign(['serve', '--check'], { cwd })).code).toBe(0)
    expect(await readdir(cwd)).toEqual([JSON_FILE])
  })

  it('the inbox, which may be no inbox', async () => {
    const cwd = await configured({})
    await writeFile(join(cwd, 'callbacks.db'), 'no database, but a text that is long enough. '.repeat(100))
    await expectRefused(cwd, 'is damaged, or not a file of SQLite')
    await rm(join(cwd, 'callbacks.db'))
    await mkdir(join(cwd, 'callbacks.db'))
    await expectRefused(cwd, 'cannot be opened, read or written')
  })

  it('a device of a file system that takes no files', async () => {
    if (process.platform !== 'linux') return
    await expectRefused(await configured({ inbox: '/proc/callbacks.db' }), '/proc/callbacks.db')
  })

  it('the inbox, whose bytes stay as they were', async () => {
    const cwd = await configured({})
    const file = join(cwd, 'callbacks.db')
    const inbox = new SqliteInbox({ file })
    await inbox.open()
    await inbox.close()
    // SQLite may leave the two files that it keeps beside an inbox.
    const look = async () => [
      await readFile(file),
      (await readdir(cwd)).filter((name) => !/-(?:wal|shm)$/.test(name)),
    ]
    const before = await look()
    expect((await countersign(['serve', '--check'], { cwd })).code).toBe(0)
    expect(await look()).toEqual(before)
  })

  it.each(['192.0.2.1', 'no-such-host.invalid'])(
    'the host, which may not be this machine: %s',
    async (host) => {
      await expectRefused(await configured({ host }), `cannot listen on ${host} port 0`, 1)
    },
  )

  it('the port, where another program may listen', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    sandbox.after(async () => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await expectRefused(await configured({ port }), 'another program listens there', 1)
  })

  it('the port, where a receiver that is to be replaced is only warned of', async () => {
    const serve = sandbox.serve([], { cwd: await configured({}) })
    const cwd = await configured({ port: await serve.port(), handlers: undefined })
    const { code, stdout } = await countersign(['serve', '--check'], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('WARN_ADDRESS_IN_USE') })
  })

  it('everything, and says all that is wrong', async () => {
    const cwd = await configured({ host: '192.0.2.1', inbox: 'none/callbacks.db' })
    const { code, stderr } = await countersign(['serve', '--check'], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/cannot listen on [^]*none\/callbacks\.db/),
    })
  })
})

describe('serve --check --strict', () => {
  const handlers = (types: string) =>
    `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], port: 0, inbox: false, handlers: { ${types} } }`

  it('makes warnings failures', async () => {
    const files = {
      [MJS_FILE]: handlers(`'transfers.book-complete': () => {}, '${PUBLIC.eventTypeName}': () => {}`),
    }
    expect((await check(files)).code).toBe(0)
    const { code, stdout } = await check(files, ['--strict'])
    expect(code).toBe(2)
    expect(stdout).toContain('not valid, as --strict makes warnings failures')
    expect(stdout).toMatch(/WARN_HANDLER_UNREACHABLE[^]*did\s+you\s+mean\s+transfers\.book-completed/)
    const asJson = JSON.parse((await check(files, ['--strict', '--json'])).stdout) as Checked
    expect(asJson).toMatchObject({ valid: false, warnings: [{ code: 'WARN_HANDLER_UNREACHABLE' }] })
  })

  it('ends with 0 without a warning', async () => {
    const files = { [MJS_FILE]: handlers(`'${PUBLIC.eventTypeName}': () => {}`) }
    expect((await check(files, ['--strict'])).code).toBe(0)
  })

  it('goes with --check', async () => {
    const { code, stderr } = await countersign(['serve', '--strict'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('--strict goes with --check'),
    })
  })
})

describe('what is misspelt is guessed', () => {
  it.each([
    [['serve', '--prot', '1'], 'Did you mean --port?'],
    [['serve', '--tolerence-ms', '1'], 'Did you mean --tolerance-ms?'],
    [['serv'], 'Did you mean serve?'],
    [['inbox', 'lst'], 'Did you mean list?'],
  ])('on the command line: %j', async (args, guess) => {
    const { code, stderr } = await countersign(args)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(guess) })
  })

  it.each([
    [{ subscription: [] }, 'Did you mean "subscriptions"?'],
    [{ tolerancMs: 1 }, 'Did you mean "toleranceMs"?'],
    [{ prot: 1 }, 'Did you mean "port"?'],
    [{ inbox: { fiel: 'a' } }, 'Did you mean "file"?'],
    [{ subscriptions: [{ ...SUBSCRIPTION, callbackURL: 'a' }] }, 'Did you mean "callbackUrl"?'],
  ])('in the configuration: %j', async (config, guess) => {
    expect(await refusal(json(config))).toContain(guess)
  })

  it('and what resembles nothing is not', async () => {
    expect(await refusal(json({ zzz: 1 }))).not.toContain('Did you mean')
  })
})

describe('a mistake in a file is named with its line', () => {
  it('in a module of handlers', async () => {
    const files = {
      ...json({ handlers: './handlers.mjs' }),
      'handlers.mjs': '// one\nexport default {\n let }',
    }
    expect(await refusal(files)).toMatch(
      /handlers module \.\/handlers\.mjs cannot be loaded: .*\/handlers\.mjs:3\)/,
    )
  })

  it('in a module that the configuration imports', async () => {
    const files = {
      [MJS_FILE]: `import './parts/../other.mjs'\nexport default {}`,
      'other.mjs': `const secret = '${secret}'\nconst = 1`,
    }
    const text = await refusal(files)
    expect(text).toMatch(/\/other\.mjs:2\)/)
    expect(text).not.toContain(secret)
  })

  it.each([
    ['{\n "a": 1,\n}', 3],
    ['{\n "a": foo\n}', 2],
    ['{\n // no\n}', 2],
    ["{\n\n 'a': 1 }", 3],
    ['{ "a": "b\n" }', 1],
    ['{ "a": [1, 2\n"b"] }', 2],
    ['{ "a": [1, 2}', 1],
    ['{ "a": 1 }\n{', 2],
    ['\n{ "a": 1\n', 2],
    ['', 1],
  ])('in JSON: %j', async (text, line) => {
    expect(await refusal({ [JSON_FILE]: text })).toBe(`${JSON_FILE} is not JSON (line ${line}).\n`)
  })
})

describe('a configuration in TypeScript', () => {
  const files = {
    'countersign.config.ts': `const port: number = 0
      export default { port, inbox: false, subscriptions: [${JSON.stringify(SUBSCRIPTION)}] }`,
  }

  it('is loaded where Node can, and else the cure is named', async () => {
    const { code, stderr } = await check(files)
    if ('typescript' in process.features && process.features.typescript) expect(code).toBe(0)
    else {
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /countersign\.config\.ts cannot be loaded: Node .* Use Node 22\.18 or later/,
        ),
      })
    }
  })
})
