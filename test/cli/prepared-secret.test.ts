import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SUBSCRIPTION } from './configured.js'
import { startFakeService } from './fake-service.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const { secret: OLD, ...PUBLIC } = SUBSCRIPTION
const CONFIG = 'countersign.config.json'

function config(secret: unknown): string {
  return JSON.stringify({ subscriptions: [{ ...PUBLIC, secret }], handlers: {} })
}

describe('rotate creates the subscription of a prepared secret', () => {
  it.each<[string, (cwd: string) => unknown]>([
    ['a relative path', () => ({ file: './new.secret' })],
    ['an absolute path', (cwd) => ({ file: join(cwd, 'new.secret') })],
    ['a path whose links are followed', () => ({ file: 'new.secret', followSymbolicLinks: true })],
    ['a variable', () => ({ env: 'NEW_SECRET' })],
  ])('if the configuration names it by %s', async (_, reference) => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory({ [CONFIG]: config({ file: 'old.secret' }), 'old.secret': OLD })
    const rotate = ['rotate', '--secret-file', 'new.secret']
    expect((await countersign([...rotate, '--prepare'], { cwd })).code).toBe(0)
    const secret = await readFile(join(cwd, 'new.secret'), 'utf8')
    await writeFile(join(cwd, CONFIG), config([reference(cwd), { file: 'old.secret' }]))
    const { stdout, stderr } = await countersign([...rotate, '--existing-secret', '--json'], {
      cwd,
      env: { ...service.env, NEW_SECRET: secret },
    })
    expect(stderr).not.toContain('already has the secret')
    const { created, entry, next } = JSON.parse(stdout) as Record<string, any>
    expect(created).toBe(true)
    expect(entry.secret).toEqual([{ file: 'new.secret' }, { file: 'old.secret' }])
    expect(next[0]).toMatch(/^The configuration already has both secrets in subscriptions\[0\]/)
  })
})
