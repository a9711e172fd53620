import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SUBSCRIPTION } from './configured.js'
import {
  check,
  type Checked,
  checked,
  json,
  JSON_FILE,
  MJS_FILE,
  PUBLIC,
  refusal,
  secret,
} from './check-config.js'

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

  it('lets the environment win over --env', async () => {
    const files = { ...json({}), '.env': 'COUNTERSIGN_PORT=1\nCOUNTERSIGN_HOST="from-the-file"\n' }
    const { stdout } = await check(files, ['--json', '--env', '.env'], { COUNTERSIGN_PORT: '2' })
    expect((JSON.parse(stdout) as Checked).listen).toEqual({ host: 'from-the-file', port: 2 })
  })

  it('takes a byte order mark and CRLF, which Windows editors write, out of --env', async () => {
    const files = { ...json({}), '.env': '\uFEFFCOUNTERSIGN_PORT="7"\r\nCOUNTERSIGN_HOST=from-the-file\r\n' }
    const { stdout } = await check(files, ['--json', '--env', '.env'])
    expect(JSON.parse(stdout)).toMatchObject({ listen: { host: 'from-the-file', port: 7 } })
  })

  it('has what is in --env ready when the file is loaded', async () => {
    const config = `export default { subscriptions: [{ ...${JSON.stringify(PUBLIC)}, secret: process.env.SECRET }] }`
    const { code } = await check({ [MJS_FILE]: config, '.env': `SECRET=${secret}` }, ['--env', '.env'])
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
    expect(warnings.map((warning) => warning.code)).not.toContain('WARN_SECRET_ENCLOSED')
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

it('may be made with defineConfig', async () => {
  const library = pathToFileURL(join(__dirname, '../../dist/index.js')).href
  const config = `import { defineConfig } from '${library}'
    const handlers = ({ on }) => on('${PUBLIC.eventTypeName}', () => {})
    export default defineConfig({ subscriptions: ${JSON.stringify([SUBSCRIPTION])}, port: 7, handlers })`
  const { code, stdout } = await check({ [MJS_FILE]: config }, ['--json'])
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 0,
    listen: { port: 7 },
    handlers: { types: [PUBLIC.eventTypeName] },
  })
})
