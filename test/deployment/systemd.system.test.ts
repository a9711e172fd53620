import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { deliver, SUBSCRIPTION } from '../cli/configured.js'
import { countersign, Sandbox } from '../cli/program.js'
import { itWhere } from '../support/it-where.js'
import { findProgram, freePort } from '../support/server-program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const documented = (name: string) => readFileSync(join(__dirname, '../../docs/deployment', name), 'utf8')
const unit = documented('countersign@.service')
const config = documented('countersign.config.mjs')
const systemdAnalyze = findProgram('systemd-analyze')

/** The value of a setting of the unit that is there once. */
function setting(name: string): string {
  const [value, ...more] = [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, text]) => text!)
  if (value === undefined || more.length > 0) throw new Error(`the unit has ${name} ${more.length + 1} times`)
  return value
}

/** The documented configuration with its files in a folder of this test, and the environment that the unit sets. */
async function installed() {
  const cwd = await sandbox.directory({ 'transfers.secret': 'a secret of a test, of 40 characters ...' })
  const port = await freePort()
  const handlers = `export default { 'transfers.book-completed': (event, { logger }) => logger.info({}, 'booked') }`
  writeFileSync(join(cwd, 'handlers.mjs'), handlers)
  const text = config
    .replaceAll('/opt/countersign', cwd)
    .replaceAll('/var/lib/countersign', cwd)
    .replace('+ 6000', '* 0')
  writeFileSync(join(cwd, 'countersign.config.mjs'), text)
  return { cwd, env: { COUNTERSIGN_PORT: String(port), CREDENTIALS_DIRECTORY: cwd } }
}

describe('the unit for systemd', () => {
  itWhere(systemdAnalyze !== undefined, 'systemd-analyze')(
    'passes systemd-analyze verify and security',
    async () => {
      // Both programs are looked for.
      const checked = unit.replace('/usr/bin/node', process.execPath)
      const cwd = await sandbox.directory({ 'countersign@.service': checked })
      const analyze = (...args: string[]) =>
        execFileSync('sh', ['-c', 'exec "$0" "$@" 2>&1', systemdAnalyze!, ...args], { cwd, encoding: 'utf8' })
      expect(analyze('verify', './countersign@3001.service')).toBe('')
      expect(analyze('security', '--offline=true', '--threshold=15', './countersign@.service')).toMatch(
        /: 1\.\d OK/,
      )
    },
  )

  itWhere(systemdAnalyze !== undefined, 'systemd-analyze')(
    'takes the second credential of a rotation as the page adds it',
    async () => {
      const page = readFileSync(join(__dirname, '../../docs/deployment.md'), 'utf8')
      const [, path, dropIn] = /^cat > \/etc\/systemd\/system\/(\S+) <<'END'\n([^]*?)^END$/m.exec(page)!
      const checked = unit.replace('/usr/bin/node', process.execPath)
      const cwd = await sandbox.directory({ 'countersign@.service': checked })
      mkdirSync(dirname(join(cwd, path!)))
      // A key that systemd does not know shows that it reads the file.
      for (const [text, expected] of [
        [dropIn!, /^$/],
        [`${dropIn!}Unknown=1\n`, /rotation\.conf.*Unknown key/],
      ] as const) {
        writeFileSync(join(cwd, path!), text)
        const command = ['-c', 'exec "$0" verify countersign@3001.service 2>&1', systemdAnalyze!]
        const env = { ...process.env, SYSTEMD_UNIT_PATH: `${cwd}:` }
        expect(execFileSync('sh', command, { cwd, env, encoding: 'utf8' })).toMatch(expected)
      }
      const [, credential] = /^LoadCredential=(.*?):/m.exec(dropIn!)!
      expect(page).toContain(`\${secrets}/${credential}`)
    },
  )

  it('runs serve with the documented configuration and the port of the instance', async () => {
    expect(setting('ExecStart')).toMatch(/\/countersign\/dist\/cli\/bin\.js serve$/)
    expect(setting('Environment')).toBe('NODE_ENV=production COUNTERSIGN_PORT=%i')
    const [, credential] = /^(.*?):/.exec(setting('LoadCredential'))!
    expect(config).toContain(`\${secrets}/${credential}`)
    const { cwd, env } = await installed()
    const secret = readFileSync(join(cwd, credential!), 'utf8')
    const serve = sandbox.serve(['--port', env.COUNTERSIGN_PORT, '--config', './countersign.config.mjs'], {
      cwd,
      env,
    })
    const port = await serve.port()
    const subscription = {
      ...SUBSCRIPTION,
      callbackUrl: 'https://partner.example.com/hooks/transfers',
      secret,
    }
    expect(await deliver(port, { subscription })).toEqual({ status: 200 })
    await serve.line(({ msg }) => msg === 'booked')
    await serve.outputMatch(/metrics on http:\/\/127\.0\.0\.1/)
  })

  it('has an admin port that belongs to the port of the instance, and lets operators use the inbox', async () => {
    const original = await sandbox.directory({ 'countersign.config.mjs': config })
    const load = (port: string) => {
      const program = `process.env.COUNTERSIGN_PORT = '${port}'
        const { default: { admin } } = await import('${pathToFileURL(join(original, 'countersign.config.mjs'))}')
        console.log(JSON.stringify(admin.port))`
      return execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    }
    expect(load('3001')).toBe('9001\n')
    expect(load('3002')).toBe('9002\n')
    const { cwd, env } = await installed()
    const serve = sandbox.serve([], { cwd, env })
    await serve.port()
    expect(await countersign(['inbox', 'stats'], { cwd })).toMatchObject({ code: 0 })
  })

  it('keeps more lines than journald does by default, as a callback makes three of them', () => {
    const [perSecond, intervalSeconds] = [5_000, 30]
    expect(Number(setting('LogRateLimitBurst'))).toBeGreaterThan(perSecond * 3 * intervalSeconds)
  })

  it('gives a stop the time that the configuration allows it', async () => {
    const { cwd, env } = await installed()
    const { stdout } = await countersign(['serve', '--check', '--json'], { cwd, env })
    const { shutdownDelayMs, stopTimeoutMs } = JSON.parse(stdout).limits as Record<string, number>
    const [, seconds] = /^(\d+)s$/.exec(setting('TimeoutStopSec'))!
    expect(Number(seconds) * 1_000).toBeGreaterThan(shutdownDelayMs! + stopTimeoutMs! + 5_000)
  })
})
