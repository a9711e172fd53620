import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'
import type { ServiceSimulator } from '../../src/simulator/service-simulator.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { fakeClock } from '../support/fake-clock.js'
import { runSimulator } from './running-simulator.js'

const FORM = 'application/x-www-form-urlencoded'
const CLIENT_SECRET = 'Abc-_.~0123'

const run = (options: ServiceSimulatorOptions = {}) =>
  runSimulator({ clientSecret: CLIENT_SECRET, ...options })

interface Asked {
  readonly status: number
  readonly headers: Headers
  readonly body: any
}

async function post(simulator: ServiceSimulator, body: string, type: string | null = FORM): Promise<Asked> {
  const response = await fetch(`${simulator.baseUrl}/security/v1/oauth2/token`, {
    method: 'POST',
    headers: type === null ? {} : { 'Content-Type': type },
    // A Blob without a type: fetch would add one to a text.
    body: new Blob([body]),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

function form({ credentials }: ServiceSimulator, changes: Record<string, string | null> = {}): string {
  const fields: Record<string, string | null> = {
    grant_type: 'client_credentials',
    client_Id: credentials.clientId,
    client_Secret: credentials.clientSecret,
    ...changes,
  }
  return new URLSearchParams(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== null),
  ).toString()
}

const ask = (simulator: ServiceSimulator, changes?: Record<string, string | null>) =>
  post(simulator, form(simulator, changes))

const authorized = async (simulator: ServiceSimulator, authorization: string) => {
  const response = await fetch(`${simulator.baseUrl}/accounts/v1/1`, {
    method: 'PUT',
    headers: { Authorization: authorization, 'Content-Type': 'application/json' },
    body: '{}',
  })
  return { status: response.status, body: (await response.text()) as any }
}

describe('a token request', () => {
  it('is answered with a Bearer token and its lifetime', async () => {
    const { status, headers, body } = await ask(await run())
    expect({ status, body }).toEqual({
      status: 200,
      body: { access_token: expect.stringMatching(/^[\w-]{32}$/), token_type: 'Bearer', expires_in: 3600 },
    })
    expect(headers.has('X-Not-Shown-By-The-Service')).toBe(false)
  })

  it.each([FORM.toUpperCase(), `${FORM}; charset=utf-8`, `${FORM};charset=UTF-8`])(
    'may say its content type as %s',
    async (type) => {
      const simulator = await run()
      expect((await post(simulator, form(simulator), type)).status).toBe(200)
    },
  )

  it('may have further parameters, and its parameters in any order', async () => {
    const simulator = await run()
    const { clientId } = simulator.credentials
    const body = `scope=all&client_Secret=${encodeURIComponent(CLIENT_SECRET)}&client_Id=${clientId}&grant_type=client_credentials`
    expect((await post(simulator, body)).status).toBe(200)
  })

  it.each([
    ['grant-type', { grant_type: 'password' }],
    ['grant-type', { grant_type: 'Client_Credentials' }],
    ['field', { grant_type: null }],
    ['field', { grant_type: null, Grant_Type: 'client_credentials' }],
    ['field', { client_Id: null }],
    ['field', { client_Id: null, client_id: 'd9b5a8a2-6c3c-4ab1-b6a7-07c3ab3f0a6e' }],
    ['field', { client_Secret: null }],
    ['field', { client_Secret: null, client_secret: CLIENT_SECRET }],
    ['field', { client_Secret: null, clientSecret: CLIENT_SECRET }],
    ['client-id', { client_Id: 'no-uuid' }],
    ['client-id', { client_Id: '' }],
    ['client-id', { client_Id: 'd9b5a8a2-6c3c-4ab1-b6a7-07c3ab3f0a6e' }],
    ['client-secret', { client_Secret: '' }],
    ['client-secret', { client_Secret: 'wrong' }],
    ['client-secret', { client_Secret: CLIENT_SECRET.toLowerCase() }],
    ['client-secret', { client_Secret: 'a'.repeat(41) }],
    ['client-secret', { client_Secret: 'white space' }],
    ['client-secret', { client_Secret: 'plus+sign' }],
    ['client-secret', { client_Secret: 'ümlaut' }],
    ['client-secret', { client_Secret: 'line\n' }],
  ])('is refused with 400 for its %s: %j', async (reason, changes) => {
    const simulator = await run()
    const { status, headers, body } = await ask(simulator, changes)
    expect({ status, body }).toEqual({ status: 400, body: { reason, message: expect.any(String) } })
    expect(headers.get('X-Not-Shown-By-The-Service')).toBe('body')
    expect(simulator.requests).toMatchObject([{ endpoint: 'token', status: 400, refusal: reason }])
  })

  it('is told when its secret cannot be one at all', async () => {
    const { body } = await ask(await run(), { client_Secret: 'x'.repeat(41) })
    expect(body.message).toContain('1 to 40 letters')
  })

  it('is told when only the letters of a name are wrong', async () => {
    const simulator = await run()
    const { body } = await ask(simulator, { client_Id: null, client_id: simulator.credentials.clientId })
    expect(body.message).toBe('client_Id is missing: its letters must be exactly these')
  })

  it.each([
    null,
    'application/json',
    'text/plain',
    'multipart/form-data',
    'application/x-www-form-urlencoded2',
    '',
  ])('is refused with 400 for the content type %j', async (type) => {
    const simulator = await run()
    expect(await post(simulator, form(simulator), type)).toMatchObject({
      status: 400,
      body: { reason: 'content-type' },
    })
  })

  it.each(['grant_type=client_credentials', 'client_Secret=other', 'client_Id='])(
    'is refused with 400 for a repeated parameter: %s',
    async (again) => {
      const simulator = await run()
      expect(await post(simulator, `${form(simulator)}&${again}`)).toMatchObject({
        status: 400,
        body: { reason: 'field' },
      })
    },
  )

  it.each(['?', '??', '%3F', '\ufeff'])(
    'is refused with 400 when its body begins with %j',
    async (beginning) => {
      const simulator = await run()
      expect(await post(simulator, `${beginning}${form(simulator)}`)).toMatchObject({
        status: 400,
        body: { reason: 'field' },
      })
    },
  )

  it('is refused with 400 at an address with a query', async () => {
    const simulator = await run()
    const response = await fetch(`${simulator.baseUrl}/security/v1/oauth2/token?x=1`, {
      method: 'POST',
      headers: { 'Content-Type': FORM },
      body: form(simulator),
    })
    expect(response.status).toBe(400)
  })

  it('is not looked for in the query', async () => {
    const simulator = await run()
    const response = await fetch(`${simulator.baseUrl}/security/v1/oauth2/token?${form(simulator)}`, {
      method: 'POST',
      headers: { 'Content-Type': FORM },
    })
    expect(response.status).toBe(400)
    expect(JSON.stringify(simulator.requests)).not.toContain(CLIENT_SECRET)
  })

  it('is a POST', async () => {
    const { baseUrl } = await run()
    expect((await fetch(`${baseUrl}/security/v1/oauth2/token`)).status).toBe(405)
  })

  it('that is too large is refused with 400, and the answer does arrive', async () => {
    const simulator = await run()
    const response = await post(simulator, `${form(simulator)}&padding=${'x'.repeat(3_000_000)}`)
    expect(response).toMatchObject({ status: 400, body: { reason: 'body-too-large' } })
  })

  it('may ignore the case of the secret where that is asked for', async () => {
    const simulator = await run({ clientSecretCase: 'ignored' })
    expect((await ask(simulator, { client_Secret: CLIENT_SECRET.toUpperCase() })).status).toBe(200)
  })

  it('may have the client id in either case', async () => {
    const simulator = await run()
    const { clientId } = simulator.credentials
    expect((await ask(simulator, { client_Id: clientId.toUpperCase() })).status).toBe(200)
  })

  it('gets the answer that refusalResponse makes', async () => {
    const simulator = await run({
      refusalResponse: ({ status, reason }) => ({
        status,
        body: { error: reason },
        headers: { 'X-Mine': '1' },
      }),
    })
    const { status, headers, body } = await ask(simulator, { client_Secret: 'wrong' })
    expect({ status, body }).toEqual({ status: 400, body: { error: 'client-secret' } })
    expect(headers.get('X-Mine')).toBe('1')
    expect(headers.has('X-Not-Shown-By-The-Service')).toBe(false)
  })
})

describe('a token', () => {
  const tokenOf = async (simulator: ServiceSimulator) => (await ask(simulator)).body.access_token as string

  it('is good until its lifetime is over', async () => {
    const clock = fakeClock()
    const simulator = await run({ clock, tokenLifetimeSeconds: 60 })
    const token = await tokenOf(simulator)
    clock.advance(59_999)
    expect((await authorized(simulator, `Bearer ${token}`)).status).toBe(200)
    clock.advance(1)
    expect(await authorized(simulator, `Bearer ${token}`)).toMatchObject({
      status: 401,
      body: expect.stringContaining('token-expired'),
    })
  })

  it('is another one each time, and the former stays good', async () => {
    const simulator = await run()
    const [first, second] = [await tokenOf(simulator), await tokenOf(simulator)]
    expect(second).not.toBe(first)
    expect((await authorized(simulator, `Bearer ${first}`)).status).toBe(200)
  })

  it('is the same with what is left of its lifetime, where that is asked for', async () => {
    const clock = fakeClock()
    const simulator = await run({ clock, repeatedTokenRequest: 'same', tokenLifetimeSeconds: 60 })
    const { body: first } = await ask(simulator)
    clock.advance(20_500)
    expect((await ask(simulator)).body).toEqual({ ...first, expires_in: 39 })
    clock.advance(39_400)
    const { body: next } = await ask(simulator)
    expect(next.access_token).not.toBe(first.access_token)
    expect(next.expires_in).toBe(60)
  })

  it('is not known any more after revokeTokens()', async () => {
    const simulator = await run()
    const token = await tokenOf(simulator)
    simulator.revokeTokens()
    expect((await authorized(simulator, `Bearer ${token}`)).status).toBe(401)
  })

  it('may follow the scheme in any case', async () => {
    const simulator = await run()
    expect((await authorized(simulator, `bearer ${await tokenOf(simulator)}`)).status).toBe(200)
  })

  it.each(['', 'Bearer', 'Bearer ', 'Basic abc', 'Bearer a b', 'Bearer unknown', 'Token x'])(
    'has to be there: %j is refused with 401',
    async (authorization) => {
      const simulator = await run()
      expect((await authorized(simulator, authorization)).status).toBe(401)
    },
  )

  it('has to come once', async () => {
    const simulator = await run()
    const token = await tokenOf(simulator)
    const { status } = await sendRawRequest(
      Buffer.from(
        `PUT /accounts/v1/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nAuthorization: Bearer ${token}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
      ),
      { port: Number(new URL(simulator.baseUrl).port) },
    )
    expect(status).toBe(401)
  })
})
