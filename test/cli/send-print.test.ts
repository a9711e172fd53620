import { signCallback, verifyCallback } from '../../src/signature/index.js'
import { SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const { callbackUrl, secret } = SUBSCRIPTION
const ENV = { COUNTERSIGN_SECRET: secret }
const TIMESTAMP = 'Tue, 03 Nov 2026 09:14:27 GMT'
const BODY = '{"Id":"65942500-d419-4b7c-b1db-dc6e35f8239c"}\n'
const AUTHORIZATION = signCallback({ callbackUrl, secret, timestamp: TIMESTAMP, body: BODY })

const sign = ['send', '--print', '--callback-url', callbackUrl, '--timestamp', TIMESTAMP]

describe('countersign send --print', () => {
  it('prints the headers of a callback, one on each line, and then its body', async () => {
    const { code, stdout, stderr } = await countersign([...sign, '--key', 'KEY', '--body', BODY], {
      env: ENV,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'Content-Type: application/json',
      'X-Idempotency-Key: KEY',
      'X-Event-Type: transfers.book-completed',
      `Authorization-Timestamp: ${TIMESTAMP}`,
      `Authorization: ${AUTHORIZATION}`,
      '',
      BODY.trimEnd(),
      '',
    ])
  })

  it('prints an object with --json', async () => {
    const { stdout } = await countersign([...sign, '--json', '--event-type', 'other', '--body', BODY], {
      env: ENV,
    })
    expect(JSON.parse(stdout)).toEqual({
      headers: expect.objectContaining({ 'X-Event-Type': 'other', Authorization: AUTHORIZATION }) as object,
      bodyBase64: Buffer.from(BODY).toString('base64'),
    })
  })

  it('signs the bytes of the standard input, line end included', async () => {
    const { stdout } = await countersign([...sign, '--body-file', '-'], { env: ENV, input: BODY })
    expect(stdout).toContain(AUTHORIZATION)
  })

  it('signs the bytes of a file', async () => {
    const cwd = await sandbox.directory({ 'body.json': BODY })
    const { stdout } = await countersign([...sign, '--body-file', 'body.json'], { cwd, env: ENV })
    expect(stdout).toContain(AUTHORIZATION)
  })

  it('signs now, under a new key, where it is not told otherwise', async () => {
    const { stdout } = await countersign(
      ['send', '--print', '--callback-url', callbackUrl, '--body', BODY, '--json'],
      {
        env: ENV,
      },
    )
    const { headers } = JSON.parse(stdout) as { headers: Record<string, string> }
    const body = Buffer.from(BODY)
    const verification = verifyCallback({
      ...SUBSCRIPTION,
      timestamp: headers['Authorization-Timestamp'],
      authorization: headers['Authorization'],
      body,
    })
    expect(verification.valid && Date.now() - verification.signedAt.getTime()).toBeLessThan(60_000)
    expect(headers['X-Idempotency-Key']).toMatch(/^[\da-f]{8}-/)
  })

  it('takes the secret from a file, without the line end that an editor adds', async () => {
    const cwd = await sandbox.directory({ 'secret.txt': `${secret}\r\n` })
    const { stdout } = await countersign([...sign, '--secret-file', 'secret.txt', '--body', BODY], { cwd })
    expect(stdout).toContain(AUTHORIZATION)
  })

  it('takes the secret from the variable that it is told, ahead of COUNTERSIGN_SECRET', async () => {
    const env = { OTHER: secret, COUNTERSIGN_SECRET: 'something else' }
    const { stdout } = await countersign([...sign, '--secret-env', 'OTHER', '--body', BODY], { env })
    expect(stdout).toContain(AUTHORIZATION)
  })

  it('warns when the secret looks like its Base64, without repeating it', async () => {
    const env = { COUNTERSIGN_SECRET: Buffer.from(secret).toString('base64') }
    const { code, stderr } = await countersign([...sign, '--body', BODY], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('looks like the Base64') })
    expect(stderr).not.toContain(env.COUNTERSIGN_SECRET)
  })

  it.each([
    [
      ['--callback-url', 'https://Partner.example.com/'],
      '--callback-url: callbackUrl "https://Partner.example.com/" must be spelled',
    ],
    [
      ['--callback-url', callbackUrl, '--timestamp', 'yesterday'],
      'timestamp must be a valid Date, or an HTTP date',
    ],
    [['--callback-url', callbackUrl, '--body', 'x', '--body-file', 'y'], 'cannot be used with'],
    [
      ['--callback-url', callbackUrl, '--body-file', 'none.json'],
      'cannot read the body from none.json (ENOENT)',
    ],
    [
      ['--callback-url', callbackUrl, '--body-file', '/dev/zero'],
      'the body from /dev/zero has more than 67,108,864 bytes',
    ],
    [[], 'name the --callback-url'],
    [['--callback-url', callbackUrl, '--count', '2'], 'cannot be used with'],
    [['--callback-url', callbackUrl, '--late', '--timestamp', TIMESTAMP], 'cannot be used with'],
  ])('ends with 2 on wrong usage: %j', async (args, message) => {
    const { code, stderr } = await countersign(['send', '--print', ...args], { env: ENV })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })
})
