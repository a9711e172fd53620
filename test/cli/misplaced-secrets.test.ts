import { SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const { secret: SECRET, ...PUBLIC } = SUBSCRIPTION
const CONFIG = 'countersign.config.json'
const URL_WITH_QUERY = 'https://PARTNER.example.com/hooks?token=query-token'

const configOf = (wrong: object) => ({
  [CONFIG]: JSON.stringify({ subscriptions: [{ ...PUBLIC, ...wrong }] }),
})

/** Runs it, and returns all that it wrote, of which nothing may be the secret. */
async function outputOf(args: readonly string[], files: Record<string, string> = {}): Promise<string> {
  const cwd = await sandbox.directory(files)
  const { code, stdout, stderr } = await countersign(args, { cwd })
  expect(code).not.toBe(0)
  const output = stdout + stderr
  for (const piece of [SECRET, SECRET.slice(0, 12), SECRET.slice(-12), 'query-token'])
    expect(output).not.toContain(piece)
  return output
}

describe('a secret in the place of its variable or file is not printed', () => {
  it.each([
    [{ env: SECRET }, 'the environment variable with a name of 40 characters is not set: name the variable'],
    [{ file: SECRET }, 'cannot read the secret file with a name of 40 characters (ENOENT): name the file'],
    [{ file: `${SECRET}\0` }, 'cannot read the secret file with a name of 41 characters'],
    [{ [SECRET]: 'x' }, 'write the secret text, { "env": "NAME" } or { "file": "PATH" }'],
    [{ text: SECRET }, 'write the secret text, { "env": "NAME" } or { "file": "PATH" }'],
  ])('by serve: %j', async (secret, message) => {
    const output = await outputOf(['serve', '--check'], configOf({ secret }))
    expect(output).toContain(`${CONFIG}: subscriptions[0].secret: ${message}`)
    await outputOf(['serve', '--check', '--json'], configOf({ secret }))
    await outputOf(['serve'], configOf({ secret }))
  })

  it.each([[{ env: SECRET }], [{ file: SECRET }]])('by rotate: %j', async (secret) => {
    const more = ['--secret-file', 'new.secret', '--base-url', 'http://127.0.0.1:1', '--client-id', 'x']
    await outputOf(['rotate', ...more], configOf({ secret }))
    await outputOf(['rotate', '--status', '--json'], configOf({ secret }))
  })

  it.each([
    ['send', ['send', 'http://127.0.0.1:1/', '--secret-env', SECRET]],
    ['send', ['send', 'http://127.0.0.1:1/', '--secret-file', SECRET]],
    ['send --print', ['send', '--print', '--callback-url', PUBLIC.callbackUrl, '--secret-env', SECRET]],
    [
      'subscribe',
      ['subscribe', '--event-type', 'a.b', '--callback-url', 'https://a.example/', '--secret-env', SECRET],
    ],
    [
      'token',
      ['token', '--base-url', 'http://127.0.0.1:1', '--client-id', 'x', '--client-secret-env', SECRET],
    ],
    [
      'token',
      ['token', '--base-url', 'http://127.0.0.1:1', '--client-id', 'x', '--client-secret-file', SECRET],
    ],
  ])('by %s: %j', async (_command, args) => {
    await outputOf(args)
  })
})

it.each([
  ['send', ['send', 'http://127.0.0.1:1/', `--secret=${SECRET}`]],
  ['send', ['send', 'http://127.0.0.1:1/', `--secret=it's '${SECRET}'\n`]],
  ['token', ['token', `--client-secret=${SECRET}`]],
])('a secret as the value of an option that does not exist is not printed by %s', async (_command, args) => {
  expect(await outputOf(args)).toMatch(/^countersign: unknown option '--(?:client-)?secret=…'/)
})

describe('a secret, or a query, in a URL that is refused is not printed', () => {
  it.each([SECRET, URL_WITH_QUERY])('by serve: %s', async (callbackUrl) => {
    const output = await outputOf(['serve', '--check'], configOf({ secret: 'x', callbackUrl }))
    expect(output).toContain(`${CONFIG}: subscriptions[0]: callbackUrl`)
  })

  it.each(
    [SECRET, URL_WITH_QUERY].flatMap(
      (url) =>
        [
          ['send --print', ['send', '--print', '--callback-url', url]],
          ['send', ['send', 'http://127.0.0.1:1/', '--callback-url', url]],
          ['verify', ['verify', 'a.http', '--callback-url', url]],
          ['subscribe', ['subscribe', '--event-type', 'a.b', '--callback-url', url, '--secret-file', 'a']],
          ['rotate', ['rotate', '--event-type', 'a.b', '--callback-url', url, '--secret-file', 'a']],
          ['simulate', ['simulate', '--callback-url', url, '--once']],
          ['simulate', ['simulate', '--deliver-to', url]],
        ] as [string, string[]][],
    ),
  )('by %s: %j', async (_command, args) => {
    await outputOf(args, { 'a.http': '' })
  })
})

it('a variable that is not set is named where it has the form of a name', async () => {
  const output = await outputOf(['serve', '--check'], configOf({ secret: { env: 'TRANSFERS_SECRET_2' } }))
  expect(output).toContain('the environment variable TRANSFERS_SECRET_2 is not set')
})

it('a file that is there is named, whatever its name', async () => {
  const files = { ...configOf({ secret: { file: 'transfers' } }), transfers: '' }
  expect(await outputOf(['serve', '--check'], files)).toMatch(/the secret file .*transfers is empty/)
})

it('a password in the URL of send is not printed', async () => {
  const url = `http://ann:${SECRET}@127.0.0.1:1/hooks`
  const output = await outputOf(['send', url, '--wrong-secret', '--json'])
  expect(output).toContain('"url": "http://127.0.0.1:1/hooks"')
})
