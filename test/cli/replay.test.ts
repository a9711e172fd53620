import { copyFile, mkdir, unlink } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { loadRecordedRequests, recordedSubscriptions } from '../../src/testing/recorded-requests.js'
import { runReceiver } from '../support/running-receiver.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const FIXTURES = join(__dirname, '../../fixtures/recorded')

async function recordedReceiver() {
  const recorded = await loadRecordedRequests(FIXTURES)
  const signedAt = Math.max(...recorded.map((request) => request.signedAt?.getTime() ?? 0))
  return { recorded, subscriptions: recordedSubscriptions(recorded), signedAt }
}

/** The URL of a receiver for the recorded requests, at the time when the last of them was signed. */
async function receiving(options?: { toleranceMs: number; clock: () => number }): Promise<string> {
  const { subscriptions, signedAt } = await recordedReceiver()
  const { port } = await runReceiver({ subscriptions, ...(options ?? { clock: () => signedAt }) })
  return `http://127.0.0.1:${port}`
}

// On a busy machine the start of two processes and the requests one after the other take long.
describe('countersign replay', () => {
  it('finds every recorded request answered as expected, by a real receiver that logs the expected outcome', async () => {
    const { recorded, subscriptions, signedAt } = await recordedReceiver()
    const config = `export default {
      subscriptions: ${JSON.stringify(subscriptions)},
      handlers: { 'transfers.book-completed': () => {} },
      inbox: false,
      clock: () => ${signedAt},
    }`
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
    const serve = sandbox.serve([], { cwd })
    const url = `http://127.0.0.1:${await serve.port()}`
    const { code, stdout } = await countersign(['replay', FIXTURES, '--url', url, '--json'])
    expect(code).toBe(0)

    const { replayed } = JSON.parse(stdout) as { replayed: { name: string; status: number }[] }
    expect(replayed.map(({ name, status }) => [name, status])).toEqual(
      recorded.map(({ name, expect: { status } }) => [name, status]),
    )
    serve.signal('SIGTERM')
    await serve.exit
    const outcomes = serve.lines
      .filter(({ msg }) => msg.startsWith('callback '))
      .map(({ outcome }) => outcome)
    expect(outcomes).toEqual(recorded.map(({ expect: { outcome } }) => outcome))
  }, 60_000)

  it('ends with 3 where a status is not as expected, and shows which', async () => {
    const url = await receiving({ toleranceMs: 1, clock: Date.now })
    const { code, stdout } = await countersign(['replay', FIXTURES, '--url', url])
    expect(code).toBe(3)
    expect(stdout).toMatch(/^curl +200 +401 +NOT AS EXPECTED$/m)
    expect(stdout).toMatch(/^no-timestamp +401 +401 +ok$/m)
    expect(stdout).toContain('Only the status is compared')
  }, 60_000)

  it('replays files in the order they are named', async () => {
    const url = await receiving()
    const files = ['second-delivery', 'first-delivery'].map((name) => join(FIXTURES, `${name}.http`))
    const { code, stdout } = await countersign(['replay', ...files, '--url', url, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      replayed: [{ name: 'second-delivery' }, { name: 'first-delivery' }],
    })
  })

  it('skips the halves of captures, and says so', async () => {
    const url = await receiving()
    const names = ['000001', '000002', '000003'].map(
      (number) => `20261103T091427000Z-${number}-0123abcd-handled`,
    )
    const [whole, withoutHttp, withoutJson] = names as [string, string, string]
    const cwd = await sandbox.directory({})
    for (const file of [`${whole}.http`, `${whole}.json`, `${withoutHttp}.json`, `${withoutJson}.http`])
      await copyFile(join(FIXTURES, `first-delivery${extname(file)}`), join(cwd, file))
    const { code, stdout, stderr } = await countersign(['replay', '.', '--url', url, '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ replayed: [{ name: whole, status: 200 }] })
    expect({ code, stderr: stderr.split('\n').sort() }).toEqual({
      code: 0,
      stderr: [
        '',
        `countersign: ${withoutHttp}.json: skipped, its other file is missing`,
        `countersign: ${withoutJson}.http: skipped, its other file is missing`,
      ],
    })
    await unlink(join(cwd, `${whole}.json`))
    const none = await countersign(['replay', '.', '--url', url], { cwd })
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/ holds no complete pair of NAME\.http and NAME\.json\n$/),
    })
  })

  it('ends with 1 when nobody answers', async () => {
    const { code, stdout } = await countersign([
      'replay',
      join(FIXTURES, 'curl.http'),
      '--url',
      'http://127.0.0.1:1',
    ])
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('no answer (ECONNREFUSED)') })
  })

  it.each([
    [['none', '--url', 'http://127.0.0.1:1'], /cannot read .*none \(ENOENT\)/],
    [['.', '--url', 'http://127.0.0.1:1'], /has no alone\.json beside it/],
    [['unreadable', '--url', 'http://127.0.0.1:1'], /unreadable\/a\.http cannot be read \(EISDIR\)/],
    [['.', '--url', 'https://127.0.0.1:1'], /it needs the http address/],
    [['.'], /required option '--url <url>' not specified/],
  ])('ends with 2 on wrong usage: %j', async (args, message) => {
    const cwd = await sandbox.directory({})
    await copyFile(join(FIXTURES, 'curl.http'), join(cwd, 'alone.http'))
    await mkdir(join(cwd, 'unreadable', 'a.http'), { recursive: true })
    await copyFile(join(FIXTURES, 'curl.json'), join(cwd, 'unreadable', 'a.json'))
    const { code, stderr } = await countersign(['replay', ...args], { cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })
})
