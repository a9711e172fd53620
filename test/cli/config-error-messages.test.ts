import { SUBSCRIPTION } from './configured.js'
import { countersign, countersignProcess } from './program.js'
import { check, type Env, json, JSON_FILE, MJS_FILE, refusal, sandbox, secret } from './check-config.js'

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
      `${JSON_FILE}: host is 7: use a host name or an address, without brackets and without a port, such as "127.0.0.1" or "::1".`,
    ],
    ['a host with a port', json({ host: 'localhost:3000' }), /host is "localhost:3000": .* without a port/],
    ['a host in brackets', json({ host: '[::1]' }), /host is "\[::1\]": .* without brackets/],
    [
      'an admin host with a port',
      json({ admin: { host: 'localhost:9464', port: 0 } }),
      /admin: host is "localhost:9464": .* without a port/,
    ],
    [
      'a folder in place of the handlers module',
      json({ handlers: './' }),
      /json: handlers module \.\/ is a folder \(.*\): name the module in it\.$/,
    ],
    [
      'a database URL whose password is not encoded',
      json({ inbox: 'postgres://user:pass/word@host/db' }),
      `${JSON_FILE}: inbox is not a URL: write "postgres://user:password@host:5432/database", with each / ? # [ ] @ of the password percent-encoded.`,
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
      /mjs: the handlers function threw: on\("x"\): the handler is of type number: pass a function\.$/,
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
    [
      [],
      { COUNTERSIGN_PORT: 'tcp://10.96.0.9:80' },
      'COUNTERSIGN_PORT: port is "tcp://10.96.0.9:80": use a whole number. ' +
        'Kubernetes sets COUNTERSIGN_PORT for a Service: set enableServiceLinks: false in the pod.',
    ],
    [[], { COUNTERSIGN_LOG_LEVEL: 'loud' }, 'COUNTERSIGN_LOG_LEVEL: logLevel is "loud": use one of'],
    [['--json', '--no-such'], {}, "unknown option '--no-such'"],
    [['--config', '.'], {}, '. is a folder ('],
    [
      ['--config', 'config.yaml'],
      {},
      'config.yaml cannot be loaded: it is neither a module nor JSON: write it as .mjs',
    ],
    [
      [],
      { COUNTERSIGN_INBOX: 'postgres://user:pass/word@host/db' },
      'COUNTERSIGN_INBOX: inbox is not a URL: write "postgres://user:password@host:5432/database"',
    ],
  ])('that was set outside the file: %j %j', async (args, env, message) => {
    const { code, stderr } = await check({ ...json({}), 'config.yaml': '' }, args, env)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    expect(stderr).not.toContain('word@host/db')
  })

  it('that has an admin which is no object, with the file as its origin, although a flag sets the port', async () => {
    const text = await refusal(json({ admin: '9464' }), ['--admin-port', '9465'])
    expect(text).toBe(
      `${JSON_FILE}: admin: options is of type string: pass one object with named options: host, port, metricsToken, hosts, console.\n`,
    )
  })

  it('that waits for a promise that never settles', async () => {
    const cwd = await sandbox.directory({ [MJS_FILE]: 'await new Promise(() => {})' })
    expect(await countersignProcess(['serve', '--check'], { cwd })).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^countersign: the configuration .* a promise that never settles/),
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
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--env: . is not a file') })
  })

  it('without a stack trace', async () => {
    const { stderr } = await check({ [MJS_FILE]: 'undefined.x' })
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('when it serves, too, and before it listens', async () => {
    // So few that no warning says how many files the process may open.
    const cwd = await sandbox.directory(json({ leaseMs: 0, maxConnections: 100 }))
    const { code, stdout, stderr } = await countersign(['serve'], { cwd })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('leaseMs is 0')
  })
})
