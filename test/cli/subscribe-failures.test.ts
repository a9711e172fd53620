import { expectHarmless, HOSTILE, startFakeService, withoutSecrets } from './fake-service.js'
import { countersign } from './program.js'
import { FILE, KEY, sandbox, subscribe, TO } from './run-subscribe.js'

describe('when the subscription is not created', () => {
  it.each([400, 401, 409, 500, 302])(
    'by a status of %d, it says what was kept and how to repeat',
    async (status) => {
      const service = await startFakeService(sandbox, () => ({ status, body: '{"reason":"not today"}' }))
      const ran = await subscribe(service, [...FILE, '--key', KEY])
      expect(ran).toMatchObject({ code: 1, stdout: '' })
      const secret = await ran.read('a.secret')
      const output = withoutSecrets(ran, secret)
      expect(output).toContain(`the service answered ${status}: {"reason":"not today"}`)
      expect(output).toContain('the secret is kept in the file a.secret')
      expect(output).toContain(`--existing-secret --key ${KEY}`)
      expect(new Set(service.calls().map(({ headers }) => headers['x-idempotency-key']))).toEqual(
        new Set([KEY]),
      )
    },
  )

  it.each([
    [400, 'it was not created'],
    [503, 'whether it was created is not known'],
  ])('claims by a status of %d no more than is known', async (status, said) => {
    const service = await startFakeService(sandbox, () => ({ status }))
    const ran = await subscribe(service, FILE)
    expect(ran.stderr).toContain(`countersign: ${said}: the service answered ${status}\n`)
    const json = await subscribe(service, [...FILE, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ created: false, mayBeCreated: status === 503, status })
  })

  it.each([[['cut', 409]], [['cut', 400]], [['cut', 401]], [['cut', 429]], [[503, 400]]] as const)(
    'does not take a refusal of the repeat for an answer to the first request: %j',
    async (answers) => {
      const service = () =>
        startFakeService(sandbox, (_request, count) => {
          const answer = answers[count - 1] ?? answers[1]
          return answer === 'cut' ? answer : { status: answer, body: '{"reason":"refused"}' }
        })
      const ran = await subscribe(await service(), FILE)
      expect(ran.code).toBe(1)
      expect(ran.stderr).toContain('countersign: whether it was created is not known: the service answered 4')
      expect(ran.stderr).toContain(
        answers[1] === 409 ? 'a conflict may mean' : 'an earlier one may have created',
      )
      expect(ran.stderr).not.toContain('it was not created')
      const json = await subscribe(await service(), [...FILE, '--json'])
      expect(json.code).toBe(1)
      expect(JSON.parse(json.stdout)).toMatchObject({ created: false, mayBeCreated: true })
    },
  )

  it.each([400, 409, 500])(
    'does not take %d for an answer to the request that it repeats',
    async (status) => {
      const service = await startFakeService(sandbox, () => ({ status }))
      const repeat = [...FILE, '--existing-secret', '--key', KEY]
      const ran = await subscribe(service, repeat, { 'a.secret': 's3cret'.repeat(4) })
      expect(ran).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('whether it was created is not known'),
      })
      const json = await subscribe(service, [...repeat, '--json'], { 'a.secret': 's3cret'.repeat(4) })
      expect(JSON.parse(json.stdout)).toMatchObject({ created: false, mayBeCreated: true, status })
    },
  )

  it('knows that it was not, where the request never left', async () => {
    const { env } = await startFakeService(sandbox)
    const ran = await subscribe({ env: { ...env, COUNTERSIGN_BASE_URL: 'http://127.0.0.1:1' } }, FILE)
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('countersign: it was not created') })
  })

  it('says how long the service asks to wait, where it gives no token', async () => {
    const service = await startFakeService(sandbox, undefined, {
      status: 429,
      headers: { 'Retry-After': '120' },
    })
    const json = await subscribe(service, [...FILE, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      created: false,
      mayBeCreated: false,
      code: 'ERR_SERVICE_RESPONSE',
      retryAfterMs: 120_000,
    })
    expect((await subscribe(service, FILE)).stderr).toContain('Try again in 120 s')
  })

  it('repeats with the same key and the same secret', async () => {
    const bodies: string[] = []
    const service = await startFakeService(sandbox, ({ body }) => {
      bodies.push(body)
      return { status: 400 }
    })
    const first = await subscribe(service, FILE)
    const [repeat] = /--existing-secret --key \S+/.exec(first.stderr)!
    const { cwd } = first
    await countersign(['subscribe', ...TO, ...FILE, ...repeat.split(' ')], { cwd, env: service.env })
    const keys = service.calls().map(({ headers }) => headers['x-idempotency-key'])
    expect(keys).toHaveLength(2)
    expect(keys[0]).toBe(keys[1])
    expect(bodies[0]).toBe(bodies[1])
  })

  it('as the service does not answer in time, it says that nobody knows', async () => {
    const service = await startFakeService(sandbox, () => 'hang')
    const ran = await subscribe(service, [...FILE, '--timeout-ms', '100'])
    expect(ran.code).toBe(1)
    expect(withoutSecrets(ran, await ran.read('a.secret'))).toContain('whether it was created is not known')
  })

  it('as the credentials are refused, the secret is kept all the same', async () => {
    const service = await startFakeService(sandbox, undefined, { status: 400, body: '{}' })
    const ran = await subscribe(service, [...FILE, '--json'])
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({
      created: false,
      mayBeCreated: false,
      code: 'ERR_TOKEN_REFUSED',
      keptIn: { file: 'a.secret' },
      repeatWith: expect.stringContaining('--existing-secret --key '),
    })
    withoutSecrets(ran, await ran.read('a.secret'))
  })

  it.each([[[]], [['--json']]])('an answer that repeats the request gives nothing away: %j', async (args) => {
    for (const status of [201, 400]) {
      const service = await startFakeService(sandbox, ({ body, headers }) => ({
        status,
        body: JSON.stringify({ body, sent: JSON.parse(body) as object, headers, HOSTILE }),
      }))
      const ran = await subscribe(service, [...FILE, ...args])
      withoutSecrets(ran, await ran.read('a.secret'))
      expectHarmless(ran)
    }
  })
})
