import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const FIXTURES = join(__dirname, '../../fixtures/recorded')
const ENV = { COUNTERSIGN_SECRET: SUBSCRIPTION.secret }
const BY_HAND = ['--callback-url', 'https://partner.example.com/hooks/transfers']

const recorded = (name: string) => join(FIXTURES, `${name}.http`)

describe('countersign verify', () => {
  it('takes the subscription from the description beside the recording', async () => {
    const { code, stdout } = await countersign(['verify', recorded('curl')])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^curl\.http +the signature is valid\n/)
  })

  it('takes it from the command line', async () => {
    const cwd = await sandbox.directory({})
    await copyFile(recorded('curl'), join(cwd, 'captured.http'))
    const { code } = await countersign(['verify', 'captured.http', ...BY_HAND], { cwd, env: ENV })
    expect(code).toBe(0)
  })

  it('prints the intermediate values that are no secrets', async () => {
    const { stdout } = await countersign(['verify', recorded('curl'), '--json'])
    const { requests } = JSON.parse(stdout) as { requests: unknown[] }
    expect(requests[0]).toMatchObject({
      valid: true,
      callbackUrl: 'https://partner.example.com/hooks/transfers',
      signedAt: '2026-11-03T09:14:27.000Z',
      bodyBytes: 46,
      bodyHash: 'CuuwMcyPz8fzLAgeKqFeHyA6SaLjdh8Bd6JZ2qnY63U=',
      stringToSign:
        '/hooks/transfers\nTue, 03 Nov 2026 09:14:27 GMT;partner.example.com;CuuwMcyPz8fzLAgeKqFeHyA6SaLjdh8Bd6JZ2qnY63U=',
    })
  })

  it('prints neither the secret nor the signature', async () => {
    const signature = /Signature=(.{44})/.exec(await readFile(recorded('curl'), 'latin1'))![1]!
    for (const format of [[], ['--json']]) {
      const { stdout, stderr } = await countersign(['verify', recorded('curl'), ...format])
      expect(stdout + stderr).not.toContain(signature)
      expect(stdout + stderr).not.toContain(SUBSCRIPTION.secret)
    }
  })

  it.each([
    ['forged-body', 'ERR_SIGNATURE_MISMATCH'],
    ['other-secret', 'ERR_SIGNATURE_MISMATCH'],
    ['no-authorization', 'ERR_AUTHORIZATION_MISSING'],
    ['bearer-authorization', 'ERR_AUTHORIZATION_MALFORMED'],
    ['no-timestamp', 'ERR_TIMESTAMP_MISSING'],
  ])('ends with 3 and gives the reason: %s', async (name, code) => {
    const ran = await countersign(['verify', recorded(name), '--json'])
    expect(ran.code).toBe(3)
    expect(JSON.parse(ran.stdout)).toMatchObject({ valid: false, requests: [{ valid: false, code }] })
  })

  it('sees a repeated Authorization header, even of one value', async () => {
    const { headers } = signedCallback({ subscription: SUBSCRIPTION })
    const repeated = signedCallback({
      subscription: SUBSCRIPTION,
      timestamp: headers['Authorization-Timestamp'],
      headers: { Authorization: headers['Authorization'], authorization: headers['Authorization'] },
    })
    const cwd = await sandbox.directory({ 'repeated.http': repeated.toHttp().toString('latin1') })
    const args = ['verify', 'repeated.http', '--callback-url', SUBSCRIPTION.callbackUrl, '--json']
    const { code, stdout } = await countersign(args, { cwd, env: ENV })
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ requests: [{ code: 'ERR_AUTHORIZATION_REPEATED' }] })
  })

  it('gives the sender of a recording no way to command the terminal', async () => {
    const request = 'POST / HTTP/1.1\r\nHost: a\r\nAuthorization-Timestamp: \x9b31mred\r\n\r\n'
    const cwd = await sandbox.directory({})
    await writeFile(join(cwd, 'a.http'), request, 'latin1')
    const { stdout } = await countersign(['verify', 'a.http', ...BY_HAND], { cwd, env: ENV })
    expect(stdout).toContain('\\u{9b}31mred')
    expect(stdout).not.toContain('\x9b')
  })

  it.each([
    [['none.http', ...BY_HAND], /cannot read .*none\.http \(ENOENT\)/],
    [['/dev/zero', ...BY_HAND], /\/dev\/zero has more than 67,108,864 bytes, the most that is read/],
    [['alone.http', ...BY_HAND], /is not an HTTP\/1\.1 request/],
    [['alone.http', '--callback-url', 'partner.example.com'], /--callback-url: .*is not an absolute URL/],
  ])('ends with 2 on wrong usage: %j', async (args, message) => {
    const cwd = await sandbox.directory({ 'alone.http': 'no HTTP' })
    const { code, stderr } = await countersign(['verify', ...args], { cwd, env: ENV })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })
})
