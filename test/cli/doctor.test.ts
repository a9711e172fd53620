import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from '../../src/index.js'
import { serve } from '../support/hosts.js'
import { itBeside } from '../support/it-beside.js'
import { runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { freePort } from '../support/server-program.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const config = JSON.stringify({ subscriptions: [subscription], inbox: false })
const urlOf = (port: number): string => `http://127.0.0.1:${port}/hooks/transfers?token=t0k3n`

describe('countersign doctor', () => {
  it.each([
    ['the configuration', { 'countersign.config.json': config }, [], {}, ''],
    ['a file', { 'a.secret': `${SECRET}\n` }, ['--secret-file', 'a.secret'], {}, ''],
    ['a variable', {}, ['--secret-env', 'MINE'], { MINE: SECRET }, ''],
    ['COUNTERSIGN_SECRET', {}, [], { COUNTERSIGN_SECRET: SECRET }, ''],
    ['an env file', { '.env': `COUNTERSIGN_SECRET=${SECRET}\n` }, ['--env', '.env'], {}, ''],
    ['a prompt', {}, ['--ask'], {}, `${SECRET}\n`],
  ])('takes the secret from %s, prints a table, and ends with 0', async (_, files, args, env, input) => {
    const { port } = await runReceiver()
    const cwd = await sandbox.directory(files)
    const { code, stdout, stderr } = await countersign(['doctor', urlOf(port), '--pause-ms', '50', ...args], {
      cwd,
      env,
      input,
    })
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/hooks\/transfers +no problems$/m)
    expect(stdout).toMatch(/^ +HTTP\/1\.1 +ok +\d+ body bytes arrived by HTTP\/1\.1 over IPv4/m)
    expect(stdout).toMatch(/^ +upload with a pause of 50 ms +ok/m)
    expect(code).toBe(0)
    for (const text of [SECRET, Buffer.from(SECRET).toString('base64'), 't0k3n', 'countersign-probe-1'])
      expect(stdout + stderr).not.toContain(text)
  })

  it.each([
    ['another secret', {}, { COUNTERSIGN_SECRET: 'another-secret-0123456789' }],
    ['doctor switched off', { probes: false }, { COUNTERSIGN_SECRET: SECRET }],
  ])('is not recognised with %s, and says so', async (_, options, env) => {
    const { port } = await runReceiver(options)
    const cwd = await sandbox.directory({})
    const { code, stdout } = await countersign(['doctor', urlOf(port)], { cwd, env })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^problem +not-recognised$/m)
    expect(stdout).not.toContain('secret-0123456789')
  })

  it('says how far it came where nothing listens, and where another program does', async () => {
    const env = { COUNTERSIGN_SECRET: SECRET }
    const closed = await countersign(['doctor', urlOf(await freePort()), '--json'], { env })
    expect(closed.code).toBe(1)
    expect(JSON.parse(closed.stdout)).toMatchObject({
      reached: 'dns',
      findings: [{ name: 'connection-failed' }],
    })
    const port = await serve((_, response) => response.end('<h1>It works</h1>'))
    const other = await countersign(['doctor', urlOf(port), '--json'], { env })
    expect(JSON.parse(other.stdout)).toMatchObject({ reached: 'http' })
    expect(other.stdout).toContain('not-the-receiver')
    const zero = await countersign(['doctor', 'http://127.0.0.1:0/', '--json'], { env })
    expect(zero.stdout).toContain('127.0.0.1 port 0: ')
    const nowhere = await countersign(['doctor', 'http://host.invalid/', '--json'], { env })
    expect(JSON.parse(nowhere.stdout)).toMatchObject({
      reached: 'nothing',
      findings: [{ name: 'dns-failed' }],
    })
  })

  it.each([
    [['https://a.example/'], /no secret: use --secret-env or --secret-file/],
    [['no-url'], /Use an absolute http or https URL/],
    [[], /missing required argument/],
    [['https://a.example/', '--secret', 'x'], /unknown option '--secret'/],
    [['https://a.example/', '-c', 'two.json'], /two\.json has no subscription with this URL/],
    [['https://a.example/', '--config', 'two.json'], /two\.json has no subscription with this URL/],
    [
      ['https://a.example/', '--pause-ms', '100', '--timeout-ms', '100'],
      /--pause-ms 100 is not less than --timeout-ms 100/,
    ],
    [['https://a.example/', '--ask'], /--ask: (there is no line|secret must not be empty)/],
  ])('ends with 2 on wrong usage: %j', async (args, message) => {
    const two = [subscription, { ...subscription, id: 'other', secret: 'another-secret-0123456789' }]
    const cwd = await sandbox.directory({ 'two.json': JSON.stringify({ subscriptions: two, inbox: false }) })
    const { code, stderr } = await countersign(['doctor', ...args], { cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })
})

// With the default pause of a second.
itBeside('countersign doctor ends with 1 on a finding, and prints JSON', async () => {
  const receiver = createReceiver({ subscriptions: [subscription], logger: false })
  receiver.on(subscription.eventTypeName, () => {})
  const listener = receiver.requestListener()
  const server = createServer((request, response) => {
    const index = request.rawHeaders.findIndex((name) => name.toLowerCase() === 'authorization')
    request.rawHeaders.splice(index, 2)
    listener(request, response)
  })
  const box = new Sandbox()
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const cwd = await box.directory({ 'countersign.config.json': config })
    const args = ['doctor', urlOf(port), '--json', '--timeout-ms', '2000']
    const { code, stdout } = await countersign(args, { cwd })
    expect(code).toBe(1)
    expect(stdout).not.toContain(SECRET)
    const { healthy, reached, steps, findings } = JSON.parse(stdout)
    expect({ healthy, reached }).toEqual({ healthy: false, reached: 'receiver' })
    // What the first probe has shown is not a second fault of the others.
    expect(steps).toContainEqual(
      expect.objectContaining({ name: 'upload with a pause of 1000 ms', ok: true }),
    )
    expect(findings[0]).toMatchObject({ name: 'authorization-stripped', severity: 'problem' })
  } finally {
    server.close()
    await box.clean()
  }
})
