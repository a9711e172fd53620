import {
  CLIENT_SECRET,
  expectHarmless,
  HOSTILE,
  startFakeService,
  TOKEN,
  withoutSecrets,
} from './fake-service.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const update = (env: Record<string, string>, ...args: string[]) =>
  countersign(['update-account', ...args], { env })

describe('countersign update-account', () => {
  it.each([
    [['--name', 'Rent'], { name: 'Rent' }],
    [['--searchable'], { searchable: true }],
    [['--no-searchable', '--name', ''], { name: '', searchable: false }],
  ])('sends what is given and nothing else: %j', async (args, body) => {
    const { env, calls } = await startFakeService(sandbox, () => ({ status: 204 }))
    const ran = await update(env, '4711', ...args)
    expect(ran).toMatchObject({ code: 0, stdout: 'the service answered 204\n', stderr: '' })
    const [call] = calls()
    expect(call).toMatchObject({ method: 'PUT', path: '/accounts/v1/4711' })
    expect(call!.headers.authorization).toBe(`Bearer ${TOKEN}`)
    expect(JSON.parse(call!.body)).toEqual(body)
  })

  it('does not let an account id reach another path', async () => {
    const { env, calls } = await startFakeService(sandbox)
    await update(env, '../../webhooks/v1/?x', '--searchable')
    for (const { path } of calls()) expect(path).toMatch(/^\/accounts\/v1\/[^/?]+$/)
  })

  it('prints status and body as JSON', async () => {
    const { env } = await startFakeService(sandbox, () => ({ status: 200, body: '{"name":"Rent"}' }))
    const { stdout } = await update(env, '4711', '--name', 'Rent', '--json')
    expect(JSON.parse(stdout)).toEqual({ status: 200, body: { name: 'Rent' } })
  })

  it('ends with 1 where the status is not 2xx, and prints what the service said', async () => {
    const { env } = await startFakeService(sandbox, () => ({ status: 404, body: '"no such account"' }))
    expect(await update(env, '4711', '--searchable')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('the service answered 404: no such account\n'),
    })
  })

  it.each([[[]], [['--json']]])(
    'keeps secrets and commands in the answer off the terminal: %j',
    async (args) => {
      const body = JSON.stringify({
        echo: `${TOKEN} ${CLIENT_SECRET} ${CLIENT_SECRET.toLowerCase()} ${HOSTILE}`,
        [HOSTILE]: TOKEN,
      })
      for (const status of [200, 400]) {
        const { env } = await startFakeService(sandbox, () => ({ status, body }))
        const ran = await update(env, '4711', '--searchable', ...args)
        expect(withoutSecrets(ran, CLIENT_SECRET.toLowerCase())).toContain('[hidden]')
        expectHarmless(ran)
      }
    },
  )

  it('bounds what it prints', async () => {
    const { env } = await startFakeService(sandbox, () => ({ status: 400, body: 'x'.repeat(50_000) }))
    const { stderr } = await update(env, '4711', '--searchable')
    expect(stderr).toContain('(46000 more characters)')
    expect(stderr.length).toBeLessThan(5_000)
  })

  it.each([[[]], [['--json']]])(
    'is not brought down by a body that is nested without end: %j',
    async (args) => {
      const body = '['.repeat(300_000) + ']'.repeat(300_000)
      const { env } = await startFakeService(sandbox, () => ({ status: 200, body }))
      const { code, stdout } = await update(env, '4711', '--searchable', ...args)
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('200') })
    },
  )

  it('ends with 2 where there is nothing to change', async () => {
    const { env, requests } = await startFakeService(sandbox)
    expect(await update(env, '4711')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing to change'),
    })
    expect(requests).toEqual([])
  })
})
