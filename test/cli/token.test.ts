import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CLIENT_ID,
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

const token = (env: Record<string, string>, ...args: string[]) => countersign(['token', ...args], { env })

describe('countersign token', () => {
  it('says that the credentials are right, of which type the token is and how long it lives, but not the token', async () => {
    const { env, requests } = await startFakeService(sandbox)
    const ran = await token(env)
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(withoutSecrets(ran)).toMatch(/a Bearer token that expires in 3600 s/)
    expect(Object.fromEntries(new URLSearchParams(requests[0]!.body))).toEqual({
      grant_type: 'client_credentials',
      client_Id: CLIENT_ID,
      client_Secret: CLIENT_SECRET,
    })
  })

  it('prints JSON without the token, and with it when asked', async () => {
    const { env } = await startFakeService(sandbox)
    const quiet = await token(env, '--json')
    withoutSecrets(quiet)
    expect(JSON.parse(quiet.stdout)).toEqual({ tokenType: 'Bearer', expiresIn: 3600 })
    const shown = await token(env, '--json', '--show-token')
    expect(JSON.parse(shown.stdout)).toMatchObject({ accessToken: TOKEN })
    expect((await token(env, '--show-token')).stdout).toContain(`\n${TOKEN}\n`)
  })

  it('takes the client secret from another variable, a file or an env file', async () => {
    const { env, requests } = await startFakeService(sandbox)
    const { COUNTERSIGN_CLIENT_SECRET: _, ...rest } = env
    const cwd = await sandbox.directory({ 'client.secret': `${CLIENT_SECRET}\n` })
    await writeFile(join(cwd, '.env'), `COUNTERSIGN_CLIENT_SECRET=${CLIENT_SECRET}\n`)
    const ways: [string[], Record<string, string>][] = [
      [['--client-secret-env', 'OTHER'], { OTHER: CLIENT_SECRET }],
      [['--client-secret-file', 'client.secret'], {}],
      [['--env', '.env'], {}],
    ]
    for (const [args, more] of ways) {
      expect(await countersign(['token', ...args], { cwd, env: { ...rest, ...more } })).toMatchObject({
        code: 0,
      })
    }
    for (const { body } of requests)
      expect(new URLSearchParams(body).get('client_Secret')).toBe(CLIENT_SECRET)
  })

  it('ends with 1 where the credentials are refused, and repeats none of them', async () => {
    const body = `{"error":"no client ${CLIENT_ID} with ${CLIENT_SECRET} ${HOSTILE}"}`
    const { env } = await startFakeService(sandbox, undefined, { status: 400, body })
    const ran = await token(env)
    expect(ran.code).toBe(1)
    expect(withoutSecrets(ran)).toMatch(/400/)
    expectHarmless(ran)
    const json = await token(env, '--json')
    expect(json.code).toBe(1)
    withoutSecrets(json)
    expect(JSON.parse(json.stdout)).toMatchObject({ code: 'ERR_TOKEN_REFUSED' })
  })

  it('ends with 1 where nobody answers', async () => {
    const { env } = await startFakeService(sandbox)
    const ran = await token({ ...env, COUNTERSIGN_BASE_URL: 'http://127.0.0.1:1' })
    expect(ran.code).toBe(1)
    withoutSecrets(ran)
  })

  it('keeps a hostile token type off the terminal', async () => {
    const body = JSON.stringify({ access_token: TOKEN, token_type: `Bearer${HOSTILE}`, expires_in: 3600 })
    const { env } = await startFakeService(sandbox, undefined, { status: 200, body })
    for (const args of [[], ['--json']]) expectHarmless(await token(env, ...args))
  })

  it.each([
    ['COUNTERSIGN_BASE_URL', 'no address of the service: use --base-url, or set COUNTERSIGN_BASE_URL'],
    ['COUNTERSIGN_CLIENT_ID', 'no client id: use --client-id, or set COUNTERSIGN_CLIENT_ID'],
    ['COUNTERSIGN_CLIENT_SECRET', 'no client secret: set COUNTERSIGN_CLIENT_SECRET'],
  ])('ends with 2 without %s', async (name, message) => {
    const { env, requests } = await startFakeService(sandbox)
    const { code, stderr } = await token({ ...env, [name]: '' })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    expect(requests).toEqual([])
  })

  it.each([
    [['--client-secret', CLIENT_SECRET], "unknown option '--client-secret'"],
    [
      ['--base-url', 'ftp://x'],
      '--base-url: baseUrl is a text of 7 characters that is not an absolute http or https URL',
    ],
    [['--base-url', 'http://service.example.com'], 'use https'],
    [['--timeout-ms', '0'], 'Use a whole number, from 1'],
    [['--client-secret-env', 'A', '--client-secret-file', 'b'], 'cannot be used with'],
    [['--client-id', 'no-uuid'], '--client-id: clientId is'],
  ])('refuses %j', async (args, message) => {
    const { env } = await startFakeService(sandbox)
    const { code, stderr } = await token(env, ...args)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    expect(stderr).not.toContain(CLIENT_SECRET)
  })
})
