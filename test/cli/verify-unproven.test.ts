import { randomBytes } from 'node:crypto'
import { opensslSignature } from '../diagnosis/openssl.js'
import { CONFIGURED, SIGNED, type Headers } from '../diagnosis/signed-elsewhere.js'
import { countersign, Sandbox } from './program.js'
import { config, http } from './recorded-http.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const authorization = (value: string) => (headers: Headers) =>
  headers.map(([name, old]) => [name, name === 'Authorization' ? value : old] as const)

async function explain(files: Record<string, string>, args: string[] = [], env = {}) {
  const cwd = await sandbox.directory({ 'countersign.config.json': config(), ...files })
  const names = Object.keys(files).filter((name) => name.endsWith('.http'))
  const readable = await countersign(['verify', ...names, ...args], { cwd, env })
  const { stdout } = await countersign(['verify', ...names, ...args, '--json'], { cwd, env })
  return { ...readable, json: JSON.parse(stdout) as { explained: boolean; requests: unknown[] } }
}

describe('verify shows forged-or-unknown where nothing was proven', () => {
  const signed = `HMAC-SHA256 Signature=${randomBytes(32).toString('base64')}`
  test.each<[string, (headers: Headers) => Headers, string | undefined]>([
    ['hexadecimal digits', authorization(`HMAC-SHA256 Signature=${randomBytes(32).toString('hex')}`), ''],
    ['64 bytes', authorization(`HMAC-SHA256 Signature=${randomBytes(64).toString('base64')}`), ''],
    ['another algorithm', authorization(`HMAC-SHA1 Signature=${randomBytes(20).toString('base64')}`), ''],
    ['a signature that was cut', authorization(signed.slice(0, 60)), ''],
    ['an unknown scheme', authorization('Something abc'), 'authorization-scheme'],
    ['a body that is empty', authorization(signed), 'body-empty'],
  ])('%s', async (_, headers, likely) => {
    const request = http({}, { headers, ...(likely === 'body-empty' && { body: '' }) })
    const { code, stdout, json } = await explain({ 'a.http': request })
    expect(code).toBe(3)
    expect(json.explained).toBe(false)
    expect(stdout.match(/^cause +.*$/gm)?.map((line) => line.replace(/^cause +| .*$/g, ''))).toEqual(
      [likely, 'forged-or-unknown'].filter((each) => each !== ''),
    )
    expect(stdout).not.toMatch(/signature is (?:right|written)/)
  })
})

test('verify calls a missing signed part an explanation, and says that the rest is not known', async () => {
  for (const name of ['Authorization', 'Authorization-Timestamp']) {
    const headers = (all: Headers) => all.filter(([each]) => each !== name)
    const { code, stdout } = await explain({ 'a.http': http({}, { headers }) })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^cause +(?:authorization-stripped|timestamp-missing) \(likely\)$/m)
    expect(stdout).toMatch(/^cause +forged-or-unknown \(likely\)$/m)
  }
  const { code, stdout } = await explain({
    'a.http': http({}, { headers: authorization('AWS4-HMAC-SHA256 Credential=a, Signature=b') }),
  })
  expect(code).toBe(3)
  expect(stdout).toMatch(/^cause +authorization-replaced \(likely\)$/m)
  expect(stdout).toMatch(/^sign +Authorization has the scheme AWS4-HMAC-SHA256$/m)
})

test('a signature of another algorithm is proven', async () => {
  const text = opensslSignature(SIGNED, { hmac: 'sha512' }).toString('base64')
  const headers = authorization(`HMAC-SHA512 Signature=${text}`)
  const { code, stdout } = await explain({ 'a.http': http({}, { headers }) })
  expect(code).toBe(3)
  expect(stdout).toMatch(/^cause +signature-algorithm \(proven\)$/m)
  expect(stdout).toMatch(/^matches +signed with HMAC-SHA-512$/m)
})

const CLIENT_SECRET = 'client-secret-0123456789'
const OTHERS = { 'other.secret': 'not-this-one-0123456789', 'client.secret': CLIENT_SECRET }

test.each([
  ['of --secret-env CLIENT_SECRET', ['--secret-env', 'OTHER', '--secret-env', 'CLIENT_SECRET']],
  ['of --secret-file client.secret', ['--secret-file', 'other.secret', '--secret-file', 'client.secret']],
  ['of --secret-env CLIENT_SECRET', ['--secret-file', 'other.secret', '--secret-env', 'CLIENT_SECRET']],
])('the secret that matched is named, and is not called a previous one: %s', async (from, args) => {
  const files = { 'a.http': http({ secret: CLIENT_SECRET }), ...OTHERS }
  const { code, stdout, json } = await explain(files, args, {
    CLIENT_SECRET,
    OTHER: 'another-0123456789',
  })
  expect(code).toBe(3)
  expect(stdout).toMatch(new RegExp(`^secret +${from}$`, 'm'))
  expect(stdout).not.toMatch(/previous secret|no longer/)
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'If it is for something else, such as the client secret, subscribe again with a secret that is only for callbacks.',
  )
  expect(json.requests).toMatchObject([{ findings: [{ secretFrom: from }] }])
  expect(stdout).not.toContain(CLIENT_SECRET)
})

test('a secret is named also where another form of it was signed with, and not where the configured one was', async () => {
  const args = ['--secret-env', 'GIVEN']
  const other = await explain({ 'a.http': http({ secret: `${CLIENT_SECRET}\n` }) }, args, {
    GIVEN: CLIENT_SECRET,
  })
  expect(other.stdout).toMatch(
    /^cause +secret-of-previous-rotation, together with secret-white-space \(proven\)$/m,
  )
  expect(other.stdout).toMatch(/^secret +of --secret-env GIVEN$/m)
  const own = await explain({ 'a.http': http({ secret: `${CONFIGURED.secret}\n` }) }, args, {
    GIVEN: CLIENT_SECRET,
  })
  expect(own.stdout).toMatch(/^cause +secret-white-space \(proven\)$/m)
  expect(own.stdout).not.toMatch(/^secret +of/m)
})
