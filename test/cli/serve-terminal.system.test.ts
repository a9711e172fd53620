import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { itWhere } from '../support/it-where.js'
import { configModule } from './configured.js'
import { Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const PROGRAM = join(__dirname, '../../dist/cli/bin.js')
const hasTerminals = spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0

/** What serve writes to a terminal until it listens, and then stops. */
async function outputOnTerminal(args: string, env: Record<string, string>): Promise<string> {
  const cwd = await sandbox.directory({
    'countersign.config.mjs': `console.log('pid ' + process.pid);${configModule('')}`,
  })
  const command = `${process.execPath} ${PROGRAM} serve --port 0 ${args}`
  // Node takes the terminal of a CI server for one without colours.
  const { NO_COLOR: _, FORCE_COLOR: __, CI: ___, ...inherited } = process.env
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd,
    env: { ...inherited, TERM: 'xterm-256color', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  let isStopping = false
  terminal.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString()
    if (isStopping || !output.includes('listening on')) return
    isStopping = true
    process.kill(Number(/pid (\d+)/.exec(output)![1]), 'SIGTERM')
  })
  await once(terminal, 'close')
  return output
}

const onTerminal = itWhere(hasTerminals, 'script of util-linux')

onTerminal('the log on a terminal is readable, and levels have colours', async () => {
  const output = await outputOnTerminal('', {})
  expect(output).toContain(' \u001b[32mINFO \u001b[39m listening on http:')
  expect(output).toMatch(/^\d\d:\d\d:\d\d\.\d{3} /m)
})

for (const [name, env] of [
  ['NO_COLOR', { NO_COLOR: '1' }],
  ['a terminal that has none', { TERM: 'dumb' }],
] as const)
  onTerminal(`levels have no colours with ${name}`, async () => {
    expect(await outputOnTerminal('', env)).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}listening on http:/m)
  })

onTerminal('the log on a terminal is JSON on request', async () => {
  expect(await outputOnTerminal('--log-format json', {})).toMatch(/^\{"level":"info",.*listening on/m)
})
