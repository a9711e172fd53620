import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { itBeside } from '../support/it-beside.js'
import { configModule, deliver } from './configured.js'
import { Sandbox } from './program.js'

const BIN = join(__dirname, '../../dist/cli/bin.js')
const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

/** Of a callback with this payload, the handler writes so many lines of 4 KB. */
const WRITES =
  "for (let i = 0; i < event.payload.lines; i++) logger.info({ text: 'x'.repeat(3_900) }, 'written')"

/** `serve` with an output that is read only until the server listens. */
async function stalled(args: readonly string[] = [], options = '', box = sandbox) {
  const cwd = await box.directory({ 'countersign.config.mjs': configModule(WRITES, options) })
  const child = spawn(process.execPath, [BIN, 'serve', '--port', '0', ...args], { cwd, stdio: 'pipe' })
  const exit = once(child, 'close')
  box.after(async () => {
    child.kill('SIGKILL')
    child.stdout.resume()
    await exit
  })
  const port = await portOf(child)
  child.stdout.pause()
  return {
    child,
    exit,
    port,
    write: (lines: number) => deliver(port, { payload: { Id: 'a', lines } }),
    refuse: (count: number) => refusals(port, count),
    /** Reads again, and resolves once this is in the output. */
    read: (text: string) => untilIn(child, text),
  }
}

async function portOf(child: ChildProcess): Promise<number> {
  let output = ''
  for (;;) {
    const [bytes] = (await once(child.stdout!, 'data')) as [Buffer]
    output += bytes.toString()
    const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1]
    if (port) return Number(port)
  }
}

function untilIn(child: ChildProcess, text: string): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', (bytes: Buffer) => {
      output += bytes.toString()
      if (output.includes(text)) resolve(output)
    })
    child.stdout!.on('end', () => reject(new Error(`the output ended without ${text}`))).resume()
  })
}

/** The statuses of requests without a signature, which share one connection. */
async function refusals(port: number, count: number): Promise<string[]> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.write('POST /hooks HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'.repeat(count))
  const statuses: string[] = []
  let received = ''
  for await (const text of socket) {
    const heads = (received + text).split('\r\n\r\n')
    received = heads.pop()!
    statuses.push(...heads.map((head) => /HTTP\/1\.1 (\d+)/.exec(head)![1]!))
    if (statuses.length === count) break
  }
  return statuses
}

/** What a pipe and its reader take of lines of 4 KB, at most 256 KiB, and what the program keeps beside that, 1 MiB. */
const MORE_THAN_A_PIPE = 100
const MORE_THAN_KEPT = 400

const count = (output: string, text: string) =>
  output.split('\n').filter((line) => line.includes(text)).length

describe.each(['json', 'readable'])('the %s log, when its reader stands still', (format) => {
  it('keeps no callback waiting; what is not kept is counted, and said once it is read again', async () => {
    const args = ['--log-format', format]
    const { write, refuse, read } = await stalled(args, 'logRefusalsPerSecond: 1_000_000,')
    expect(await write(MORE_THAN_KEPT)).toEqual({ status: 200 })
    expect(new Set(await refuse(100))).toEqual(new Set(['401']))
    const output = await read('WARN_LOG_LINES_DROPPED')
    const dropped = Number(/dropped"?[=:](\d+)/.exec(output)![1])
    expect(dropped).toBeGreaterThan(0)
    const lines = ['written', 'callback handled', 'callback refused'].map((text) => count(output, text))
    expect(lines.reduce((sum, each) => sum + each) + dropped).toBe(MORE_THAN_KEPT + 1 + 100)
  }, 60_000)
})

describe('the end of the process', () => {
  it.each([
    ['after SIGTERM', '', 0, '"msg":"stopped"'],
    [
      'after an error that nobody caught',
      `if (code === 'ERR_METHOD_NOT_ALLOWED') setImmediate(() => { throw new Error('out of nowhere') })`,
      1,
      'out of nowhere',
    ],
    [
      'by process.exit()',
      `if (code === 'ERR_METHOD_NOT_ALLOWED') process.exit(7)`,
      7,
      '"code":"ERR_METHOD_NOT_ALLOWED"',
    ],
  ])(
    'waits for what was not written yet: %s',
    async (_how, ending, code, last) => {
      const handlers = `handlers: ({ onAny, onOutcome }) => {
        onAny((event, { logger }) => { ${WRITES} })
        onOutcome(({ code }) => { ${ending} })
      },`
      const { write, read, child, exit, port } = await stalled([], handlers)
      await write(MORE_THAN_A_PIPE)
      if (ending) void fetch(`http://127.0.0.1:${port}/`, { method: 'PUT' }).catch(() => {})
      else child.kill('SIGTERM')
      const output = await read(last)
      expect(await exit).toEqual([code, null])
      expect(count(output, 'written')).toBe(MORE_THAN_A_PIPE)
    },
    60_000,
  )
})

// Both at once, as each waits for two seconds before it drops what its reader does not take.
itBeside(
  'a log whose reader stands still does not keep the process from ending',
  async () => {
    const box = new Sandbox()
    try {
      const ends = ['json', 'readable'].map(async (format) => {
        const { write, child, exit } = await stalled(['--log-format', format], '', box)
        await write(MORE_THAN_A_PIPE)
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        expect(await ended).toEqual([0, null])
        child.stdout.resume()
        await exit
      })
      await Promise.all(ends)
    } finally {
      await box.clean()
    }
  },
  60_000,
)
