import { readFile, stat } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { serve } from '../support/hosts.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { runReceiver, SECRET } from '../support/running-receiver.js'
import { freePort } from '../support/server-program.js'
import { until } from '../support/until.js'
import { countersign } from './program.js'
import {
  CLIENT_SECRET,
  CALLBACK_URL,
  ENV,
  sandbox,
  to,
  simulateOnce,
  events,
  Simulating,
  subscribe,
} from './simulating.js'

describe('countersign simulate --once', () => {
  // Both at once, as some faults wait.
  it('delivers every fault, and finds each answer right, of a receiver with an inbox and of one without', async () => {
    const [inline, inbox] = await Promise.all([runReceiver(), runInboxReceiver()])
    const [toInline, toInbox] = await Promise.all([
      simulateOnce(inline.port, '--faults', 'all', '--receiver', 'inline'),
      simulateOnce(inbox.port, '--faults', 'all', '--receiver', 'inbox'),
    ])
    const right = { code: 0, stdout: expect.stringContaining('every answer right') }
    expect(toInline).toMatchObject(right)
    expect(toInbox).toMatchObject(right)
    const keys = inline.handled.map(({ idempotencyKey }) => idempotencyKey)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('ends with 3 when an answer is not right', async () => {
    const port = await serve((_request, response) => response.end())
    const { code, stdout } = await simulateOnce(port, '--faults', 'none,wrong-secret')
    expect({ code, stdout }).toEqual({
      code: 3,
      stdout: expect.stringMatching(/wrong-secret .* 200 .*EXPECTED 401\n2 sent, WRONG answers: 1\n$/),
    })
  })

  it('judges late and early by what the receiver allows', async () => {
    const { port, handled } = await runReceiver({
      toleranceMs: 72 * 3_600_000,
      futureToleranceMs: 7_200_000,
    })
    const faults = ['--faults', 'late,early', '--receiver', 'inline', '--json']
    const allowed = ['--tolerance-ms', '259200000', '--future-tolerance-ms', '7200000']
    const told = await simulateOnce(port, ...faults, ...allowed)
    expect(events(told.stdout)[1]!.attempts.map(({ status }: { status: number }) => status)).toEqual([
      200, 200,
    ])
    expect(told.code).toBe(0)
    expect(handled).toHaveLength(2)
    expect((await simulateOnce(port, ...faults)).code).toBe(3)
  })

  it('ends with 3 when nobody answers', async () => {
    const { code, stdout } = await simulateOnce(1, '--wait-ms', '1')
    expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining('no answer (ECONNREFUSED)') })
  })

  it('delivers as many of each as asked for, and the same again with the same seed', async () => {
    const { port } = await runReceiver()
    const keys = []
    for (const _ of [1, 2]) {
      const { stdout } = await simulateOnce(
        port,
        '--json',
        '--callbacks',
        '3',
        '--faults',
        'none,repeat',
        '--seed',
        '7',
      )
      const { attempts } = events(stdout)[1]!
      expect(attempts.map(({ fault }: { fault: string }) => fault)).toEqual([
        ...Array(3).fill('none'),
        ...Array(6).fill('repeat'),
      ])
      keys.push(attempts.map(({ idempotencyKey }: { idempotencyKey: string }) => idempotencyKey))
    }
    expect(keys[1]).toEqual(keys[0])
  })

  it('waits until the receiver listens', async () => {
    const { port } = await runReceiver()
    const free = await freePort()
    const simulating = new Simulating(['--once', ...to(free), ...CALLBACK_URL], { env: ENV })
    await simulating.line(1)
    const late = createServer((socket) => socket.pipe(connect(port, '127.0.0.1')).pipe(socket))
    late.listen(free, '127.0.0.1')
    sandbox.after(async () => void late.close())
    expect(await simulating.line(2)).toMatchObject({ areRight: true })
    expect(await simulating.exit).toBe(0)
  })

  it('sends again what was not taken, and judges that as a callback without a fault', async () => {
    const { port, handled } = await runReceiver()
    for (const timestamp of ['first', 'fresh']) {
      const { code, stdout } = await simulateOnce(
        port,
        '--json',
        '--faults',
        'cut-before-answer',
        '--retry-delays-ms',
        '1,10',
        '--retry-timestamp',
        timestamp,
      )
      const [cut, again, ...more] = events(stdout)[1]!.attempts
      expect(code).toBe(0)
      expect(cut).toMatchObject({ isRetry: false, error: 'CUT', isRight: true })
      expect(again).toMatchObject({ isRetry: true, status: 200, isRight: true })
      expect(more).toEqual([])
      expect(again.timestamp === cut.timestamp).toBe(timestamp === 'first')
    }
    expect(handled).toHaveLength(2)
  })

  it('prints no secret and no signature', async () => {
    const { port } = await runReceiver()
    for (const format of [[], ['--json']]) {
      const { stdout, stderr } = await simulateOnce(port, ...format)
      expect(stdout + stderr).not.toContain(SECRET)
      expect(stdout + stderr).not.toMatch(/[\w+/]{43}=/)
      expect(stdout + stderr).not.toContain('CLIENT_SECRET=')
    }
  })
})

describe('countersign simulate', () => {
  it('delivers to each subscription once it is there, and stays until a signal', async () => {
    const { port, handled } = await runReceiver()
    const env = { COUNTERSIGN_CLIENT_SECRET: CLIENT_SECRET }
    const simulating = new Simulating([...to(port), '--callbacks', '2'], { env })
    const { baseUrl, clientId } = await simulating.line(1)
    await subscribe(baseUrl, clientId)
    expect(await simulating.line(2)).toMatchObject({ event: 'delivered', areRight: true })
    await subscribe(baseUrl, clientId)
    await simulating.line(3)
    expect(handled).toHaveLength(4)
    simulating.signal('SIGTERM')
    expect(await simulating.exit).toBe(0)
    expect(simulating.output).not.toContain(CLIENT_SECRET)
  })

  it('takes the client from the environment, and the port it is told', async () => {
    const clientId = '3f8a2b1c-9d4e-4f60-8a7b-1c2d3e4f5a6b'
    const env = { COUNTERSIGN_CLIENT_SECRET: CLIENT_SECRET, COUNTERSIGN_CLIENT_ID: clientId }
    const simulating = new Simulating([], { env })
    expect(await simulating.line(1)).toEqual({
      event: 'listening',
      baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      clientId,
      clientSecretIn: 'that of COUNTERSIGN_CLIENT_SECRET',
      seed: expect.any(Number),
    })
    simulating.signal('SIGINT')
    expect(await simulating.exit).toBe(0)
  })

  it('makes a client secret in a file that only its owner may read, and finds it there again', async () => {
    const { port } = await runReceiver()
    const cwd = await sandbox.directory({})
    const file = join(cwd, 'client.secret')
    const args = [...to(port), ...CALLBACK_URL, '--client-secret-file', 'client.secret', '--json']
    const found: string[] = []
    for (const _ of [1, 2]) {
      const { stdout, stderr } = await countersign(['simulate', '--once', ...args], { cwd, env: ENV })
      expect(events(stdout)[0]).toMatchObject({ clientSecretIn: 'in client.secret' })
      found.push(await readFile(file, 'utf8'))
      expect(stdout + stderr).not.toContain(found[0])
    }
    expect(found[0]).toMatch(/^[\w-]{40}$/)
    expect(found[1]).toBe(found[0])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it('prints a client secret only when it is asked to', async () => {
    const { port } = await runReceiver()
    const [shown] = events((await simulateOnce(port, '--show-secret', '--json')).stdout)
    expect(shown).toMatchObject({
      clientSecret: expect.stringMatching(/^[\w-]{40}$/),
      clientSecretIn: 'random, and shown here',
    })
    const [quiet] = events((await simulateOnce(port, '--json')).stdout)
    expect(quiet).toMatchObject({ clientSecretIn: 'random, and not shown' })
    expect(quiet).not.toHaveProperty('clientSecret')
  })

  it('says when there is nowhere to deliver to, and goes on', async () => {
    const port = await serve((_request, response) => response.end())
    const simulating = new Simulating([], { env: { COUNTERSIGN_CLIENT_SECRET: CLIENT_SECRET } })
    const { baseUrl, clientId } = await simulating.line(1)
    await subscribe(baseUrl, clientId)
    await subscribe(baseUrl, clientId, `http://127.0.0.1:${port}/`)
    expect(await simulating.line(2)).toMatchObject({ areRight: true, attempts: [{ status: 200 }] })
    const message = 'cannot deliver to "https://partner.example.com/hooks/transfers"'
    await until(() => simulating.output.includes(message))
  })

  it('ends with 1 when a signal comes before --once is done', async () => {
    const simulating = new Simulating(['--once'], { env: { COUNTERSIGN_CLIENT_SECRET: CLIENT_SECRET } })
    await simulating.line(1)
    simulating.signal('SIGINT')
    expect(await simulating.exit).toBe(1)
  })

  it('ends with 1 when the port is taken', async () => {
    const port = await serve(() => {})
    const { code, stderr } = await countersign(['simulate', '--show-secret', '--port', String(port)])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('another program listens there'),
    })
  })
})

describe('wrong usage of simulate', () => {
  it.each<[string[], string]>([
    [[], 'no client secret: set COUNTERSIGN_CLIENT_SECRET, or have one made with --client-secret-file'],
    [
      ['--deliver-to', 'https://partner.example.com'],
      '--deliver-to: deliverTo is "https://partner.example.com"',
    ],
    [['--faults', 'none,unknown'], 'Use all, or some of none, repeat,'],
    [['--faults', 'twinz'], 'Did you mean twins?'],
    [['--faults', 'next-secret'], 'Use all, or some of none, repeat,'],
    [['--callbacks', '0'], 'Use a whole number, from 1'],
    [['--callbacks', '1000001'], 'Use at most 1000000.'],
    [['--client-id', 'x'], 'Use a UUID'],
    [['--event-type', 'a\nb'], 'no HTTP header can carry'],
    [['--event-type', ' a'], 'white space around it'],
    [['--receiver', 'both'], 'Allowed choices are inbox, inline, either'],
    [['--client-secret', 'literal'], "unknown option '--client-secret'"],
    [CALLBACK_URL, 'no secret: use --secret-env or --secret-file, or set COUNTERSIGN_SECRET'],
    [
      ['--client-secret-file', 'no/such/directory'],
      'cannot make the client secret file no/such/directory (ENOENT)',
    ],
  ])('ends with 2: %j', async (args, message) => {
    const { code, stdout, stderr } = await countersign(['simulate', ...args])
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  })

  it.each<[Record<string, string>, string[], string]>([
    [{ COUNTERSIGN_CLIENT_ID: 'x' }, [], 'COUNTERSIGN_CLIENT_ID: clientId is not a UUID'],
    [{ COUNTERSIGN_CLIENT_SECRET: 'a b' }, [], 'COUNTERSIGN_CLIENT_SECRET: clientSecret is not of the form'],
    [{}, ['--port', '65536'], '--port: port is 65536'],
  ])('names where a wrong value was given: %j %j', async (env, args, message) => {
    const { code, stderr } = await countersign(['simulate', '--show-secret', ...args], { env })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })

  it.each<[string[], string]>([
    [CALLBACK_URL, 'cannot deliver to "https://partner.example.com/hooks/transfers": use --deliver-to'],
    [['--callback-url', 'https://X.example.com'], 'must be spelled "https://x.example.com/"'],
  ])('ends with 2 with --once: %j', async (args, message) => {
    const { code, stderr } = await countersign(['simulate', '--once', ...args], { env: ENV })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })
})
