import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { CONFIGURED, signature, SIGNED } from '../diagnosis/signed-elsewhere.js'
import { config, http } from './recorded-http.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const FIXTURES = join(__dirname, '../../fixtures/recorded')
const BASE64 = Buffer.from(CONFIGURED.secret).toString('base64')

describe('countersign verify', () => {
  it('names the mistake of the configuration, and ends with 3', async () => {
    const cwd = await sandbox.directory({
      'a.http': http({}),
      'countersign.config.json': config({ secret: BASE64 }),
    })
    const { code, stdout, stderr } = await countersign(['verify', 'a.http'], { cwd })
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(stdout).toMatch(/^a\.http +the signature does not match\n/)
    expect(stdout).toMatch(/^cause +secret-is-base64 \(proven\)$/m)
    expect(stdout).toMatch(/^what to do +Configure the decoded text/m)
    expect(stdout).toMatch(/^matches +decoded from Base64$/m)
  })

  it('prints JSON', async () => {
    const cwd = await sandbox.directory({
      'a.http': http({}),
      'countersign.config.json': config({ secret: BASE64 }),
    })
    const { stdout } = await countersign(['verify', 'a.http', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      explained: true,
      requests: [
        {
          name: 'a.http',
          explained: true,
          valid: false,
          findings: [{ cause: 'secret-is-base64', certainty: 'proven' }],
        },
      ],
    })
  })

  it('prints no secret, no signature, no query and no body', async () => {
    const cwd = await sandbox.directory({
      'a.http': http({}),
      'countersign.config.json': config({ secret: BASE64 }),
    })
    for (const format of [[], ['--json']]) {
      const { stdout, stderr } = await countersign(['verify', 'a.http', ...format], { cwd })
      for (const text of [
        CONFIGURED.secret,
        BASE64,
        signature(SIGNED).toString('base64'),
        'tenant=north',
        '64b87e81',
      ]) {
        expect(stdout + stderr).not.toContain(text)
      }
    }
  })

  it('says that it was not explained if nothing fits, and says what was ruled out', async () => {
    const files = { 'a.http': http({ secret: 'nobody-knows-this' }), 'countersign.config.json': config() }
    const cwd = await sandbox.directory(files)
    const { code, stdout } = await countersign(['verify', 'a.http'], { cwd })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +forged-or-unknown/m)
    expect(stdout).toMatch(/^ruled out +.*body-reserialised/m)
  })

  it('says of a valid request that it is valid', async () => {
    const cwd = await sandbox.directory({ 'a.http': http({}), 'countersign.config.json': config() })
    const { code, stdout } = await countersign(['verify', 'a.http'], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a.http  the signature is valid\n' })
  })

  it('reads the request from the standard input', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.json': config({ secret: `${CONFIGURED.secret} ` }),
    })
    const { code, stdout } = await countersign(['verify', '-'], { cwd, input: http({}) })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +secret-white-space/m)
  })

  it('takes the subscription from NAME.json where there is no configuration', async () => {
    const { code, stdout } = await countersign([
      'verify',
      join(FIXTURES, 'no-authorization.http'),
      join(FIXTURES, 'curl.http'),
    ])
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +authorization-stripped \(likely\)$/m)
    expect(stdout).toContain('curl.http  the signature is valid')
  })

  it('explains every request of a folder', async () => {
    const { code, stdout } = await countersign(['verify', FIXTURES, '--json'])
    const { requests } = JSON.parse(stdout) as { requests: { name: string; explained: boolean }[] }
    expect(code).toBe(3)
    expect(requests.filter(({ explained }) => !explained).map(({ name }) => name)).toEqual([
      'forged-body.http',
      'other-secret.http',
    ])
  })

  it.each([
    ['a file', ['--secret-file', 'old.secret'], {}, ''],
    ['a variable', ['--secret-env', 'OLD_SECRET'], { OLD_SECRET: 'the-old-secret-0123456789' }, ''],
    ['an answer', ['--ask'], {}, 'the-old-secret-0123456789\n\n\n'],
  ])('tries a secret of %s', async (_, args, env, input) => {
    const cwd = await sandbox.directory({
      'a.http': http({ secret: 'the-old-secret-0123456789' }),
      'old.secret': 'the-old-secret-0123456789\n',
      'countersign.config.json': config(),
    })
    const { code, stdout, stderr } = await countersign(['verify', 'a.http', ...args], { cwd, env, input })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +secret-of-previous-rotation \(proven\)$/m)
    expect(stdout + stderr).not.toContain('the-old-secret')
  })

  it.each([
    ['a file', ['--url-file', 'urls.txt'], {}, ''],
    ['a variable', ['--url-env', 'URLS'], { URLS: 'https://a.example/ https://staging.example.net/in' }, ''],
    ['an answer', ['--ask'], {}, '\nhttps://staging.example.net/in\n\n'],
  ])('tries a URL of %s', async (_, args, env, input) => {
    const cwd = await sandbox.directory({
      'a.http': http({ host: 'staging.example.net', target: '/in' }),
      'urls.txt': 'https://a.example/\nhttps://staging.example.net/in\n',
      'countersign.config.json': config(),
    })
    const { code, stdout } = await countersign(['verify', 'a.http', ...args], { cwd, env, input })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +url-of-other-subscription \(proven\)$/m)
    expect(stdout).toMatch(/^signed URL +staging\.example\.net\/in$/m)
  })

  it('needs no configuration where secret and URL are given', async () => {
    const cwd = await sandbox.directory({
      'a.http': http({}),
      'a.secret': BASE64,
      'a.url': CONFIGURED.callbackUrl,
    })
    const { code, stdout } = await countersign(
      ['verify', 'a.http', '--secret-file', 'a.secret', '--url-file', 'a.url'],
      { cwd },
    )
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +secret-is-base64 \(proven\)$/m)
  })

  it('calls a function of the configuration with what the request says', async () => {
    const cwd = await sandbox.directory({
      'a.http': http({}),
      'countersign.config.mjs': `export default { inbox: false, subscriptions: ({ eventType, path }) =>
        eventType === 'transfers.book-completed' && path.startsWith('/hooks') ? [${JSON.stringify({ ...CONFIGURED, secret: BASE64 })}] : [] }`,
    })
    const { stdout } = await countersign(['verify', 'a.http'], { cwd })
    expect(stdout).toMatch(/^cause +secret-is-base64 \(proven\)$/m)
  })

  it('explains a recording that was cut off or lengthened', async () => {
    const cwd = await sandbox.directory({
      'cut.http': http({}).slice(0, -10),
      'long.http': `${http({})}\n`,
      'countersign.config.json': config(),
    })
    const { code, stdout } = await countersign(['verify', 'cut.http', 'long.http', '--json'], { cwd })
    // Bytes of the body are missing, so no signature could prove more.
    expect(code).toBe(3)
    const { requests } = JSON.parse(stdout) as {
      requests: { findings: { cause: string; certainty: string }[] }[]
    }
    expect(requests[0]?.findings[0]).toMatchObject({ cause: 'body-truncated', certainty: 'likely' })
    expect(requests[1]?.findings[0]).toMatchObject({ cause: 'body-trimmed', certainty: 'proven' })
  })

  it('compares clocks where it is told when the requests arrived', async () => {
    const cwd = await sandbox.directory({
      'a.http': http({}),
      'countersign.config.json': config({}, { toleranceMs: 3_600_000 }),
    })
    await utimes(join(cwd, 'a.http'), new Date(), new Date('2026-11-03T11:14:27Z'))
    const late = await countersign(['verify', 'a.http', '--received-at', 'mtime'], { cwd })
    expect(late.stdout).toMatch(/^cause +delivery-late \(likely\)$/m)
    expect(late.stdout).toMatch(/^difference +7200 s$/m)
    const early = await countersign(['verify', 'a.http', '--received-at', '2026-11-03T08:00:00Z'], { cwd })
    expect(early.stdout).toMatch(/^cause +clock-skew \(proven\)$/m)
    expect((await countersign(['verify', 'a.http'], { cwd })).stdout).toBe('a.http  the signature is valid\n')
  })

  it('sees that one of two requests replays the other', async () => {
    const replay = http({}).replace('bd86bd30', '00000000')
    const cwd = await sandbox.directory({
      'a.http': http({}),
      'b.http': replay,
      'countersign.config.json': config(),
    })
    const { stdout } = await countersign(['verify', 'a.http', 'b.http'], { cwd })
    expect(stdout.match(/^cause +replayed \(proven\)$/gm)).toHaveLength(2)
  })

  it('gives the sender of a recording no way to command the terminal', async () => {
    const text = http({ target: '/\x9b31mred' }, { path: '/\x9b31mred' })
    const cwd = await sandbox.directory({ 'countersign.config.json': config(), '\x1b[31mred.http': text })
    for (const name of ['-', '\x1b[31mred.http', '.']) {
      const { stdout, stderr } = await countersign(['verify', name], { cwd, input: text })
      expect(stdout).toContain('url-path')
      for (const control of ['\x9b', '\x1b']) expect(stdout + stderr).not.toContain(control)
    }
  })

  it.each([
    [['none.http'], /cannot read .*none\.http \(ENOENT\)/],
    [['text.http'], /text\.http is not an HTTP\/1\.1 request: it has no request line/],
    [['/dev/zero'], /\/dev\/zero has more than 67,108,864 bytes, the most that is read/],
    [['head.http'], /no empty line after its headers within the first MiB/],
    [['lf.http'], /its lines end in LF in place of CR LF/],
    [['a.http', '--config', 'none.json'], /there is no configuration file none\.json/],
    [['a.http', '-c', 'none.json'], /there is no configuration file none\.json/],
    [['a.http', '--secret-file', 'none.secret'], /cannot read the secret file .*none\.secret \(ENOENT\)/],
    [['a.http', '--url-file', 'none.txt'], /cannot read the list of URLs in .*none\.txt \(ENOENT\)/],
    [
      ['a.http', '--url-file', 'https://a.example/?token=t0k3n'],
      /cannot read the list of URLs in a file with a name of 30 characters/,
    ],
    [['a.http', '--url-file', '/dev/zero'], /the list of URLs in a file .* has more than 67,108,864 bytes/],
    [['a.http'], /there is nothing to compare the request with/],
    [['-', '--ask'], /--ask reads the standard input/],
    [['a.http', '--received-at', 'today'], /Use an ISO time/],
    [['a.http', '--secret', 'x'], /unknown option '--secret'/],
    [[], /missing required argument/],
  ])('ends with 2 on wrong usage: %j', async (args, message) => {
    const files = {
      'a.http': http({}),
      'text.http': 'no HTTP',
      'lf.http': http({}).replaceAll('\r\n', '\n'),
      'head.http': http({}, { headers: (headers) => [...headers, ['X-Long', 'a'.repeat(1_048_576)]] }),
    }
    const cwd = await sandbox.directory(files)
    const { code, stderr } = await countersign(['verify', ...args], { cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })
})
