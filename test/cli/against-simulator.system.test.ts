import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startServiceSimulator } from '../../src/simulator.js'
import { withoutSecrets } from './fake-service.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const CALLBACK_URL = 'https://partner.example.com/hooks/transfers'
const CONFIG = 'countersign.config.json'

// What the service makes of a second subscription for the same callback URL is not documented: both have to work.
it.each(['beside', 'replace'] as const)(
  'goes live and replaces the secret without a callback that is refused: the old subscription stays %s',
  async (repeatedSubscription) => {
    const simulator = await startServiceSimulator({ repeatedSubscription })
    sandbox.after(() => simulator.close())
    const { clientId, clientSecret } = simulator.credentials
    const cwd = await sandbox.directory({})
    const env = {
      COUNTERSIGN_BASE_URL: simulator.baseUrl,
      COUNTERSIGN_CLIENT_ID: clientId,
      COUNTERSIGN_CLIENT_SECRET: clientSecret,
    }
    const secrets = [clientSecret]
    const run = async (...args: string[]) => {
      const ran = await countersign([...args, '--json'], { cwd, env })
      const answer = JSON.parse(ran.stdout) as {
        entry: object
        secrets: { secret: string; last: object | null }[]
      }
      withoutSecrets(ran, ...secrets)
      return { ...ran, answer }
    }
    const configure = (entry: object) =>
      writeFile(join(cwd, CONFIG), JSON.stringify({ subscriptions: [entry], handlers: {} }))
    const restart = async () => {
      const serve = sandbox.serve([], { cwd })
      simulator.deliverTo(`http://127.0.0.1:${await serve.port()}`)
      return serve
    }
    const delivered = async (subscription: (typeof simulator.subscriptions)[number]) => {
      const { attempts } = await simulator.deliver({ subscription })
      return attempts.map(({ status }) => status)
    }

    expect((await run('token')).code).toBe(0)
    const to = ['--event-type', 'transfers.book-completed', '--callback-url', CALLBACK_URL]
    const first = ['subscribe', ...to, '--secret-file', 'first.secret']
    await configure((await run(...first, '--prepare')).answer.entry)
    secrets.push(await readFile(join(cwd, 'first.secret'), 'utf8'))
    const before = await restart()
    expect((await run(...first, '--existing-secret')).code).toBe(0)
    const [old] = simulator.subscriptions
    expect(old).toMatchObject({ callbackUrl: CALLBACK_URL, secret: secrets[1] })
    expect(await delivered(old!)).toEqual([200])

    const second = ['rotate', '--secret-file', 'second.secret']
    await configure((await run(...second, '--prepare')).answer.entry)
    secrets.push(await readFile(join(cwd, 'second.secret'), 'utf8'))
    before.signal('SIGTERM')
    await before.exit
    await restart()
    expect(await delivered(old!)).toEqual([200])
    expect((await run(...second, '--existing-secret')).code).toBe(0)
    const latest = await simulator.subscribed({ count: simulator.subscriptions.length })
    expect(latest.secret).toBe(secrets[2])
    for (const subscription of simulator.subscriptions) expect(await delivered(subscription)).toEqual([200])

    const { answer } = await run('rotate', '--status')
    expect(answer.secrets).toMatchObject([
      { secret: 'file second.secret', last: { signedAt: expect.any(String) } },
      { secret: 'file first.secret', last: { signedAt: expect.any(String) } },
    ])
  },
)

it('updates an account, and finds wrong credentials', async () => {
  const simulator = await startServiceSimulator()
  sandbox.after(() => simulator.close())
  const { clientId, clientSecret } = simulator.credentials
  const env = {
    COUNTERSIGN_BASE_URL: simulator.baseUrl,
    COUNTERSIGN_CLIENT_ID: clientId,
    COUNTERSIGN_CLIENT_SECRET: clientSecret,
  }
  const update = ['update-account', '47/11', '--name', 'Petty cash', '--no-searchable']
  expect((await countersign(update, { env })).code).toBe(0)
  expect(simulator.accounts.get('47/11')).toMatchObject({ name: 'Petty cash', searchable: false })

  const wrong = { ...env, COUNTERSIGN_CLIENT_SECRET: 'of.another-client' }
  const ran = await countersign(['token'], { env: wrong })
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('checklist'),
  })
  withoutSecrets(ran, 'of.another-client', clientSecret)
})
