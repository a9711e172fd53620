import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SUBSCRIPTION } from './configured.js'
import { startFakeService } from './fake-service.js'
import { countersign, countersignProcess, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const RECORDED = join(__dirname, '../../fixtures/recorded/curl.http')
const NOBODY_LISTENS = 'http://127.0.0.1:1/'
const UPDATE = ['--account-id', '65942500-d419-4b7c-b1db-dc6e35f8239c', '--name', 'Rent']
const { callbackUrl } = SUBSCRIPTION
/** Keys, times, and the widths of the columns that these are in. */
const VARYING = /[0-9a-f-]{8,}…?|[\d.:]+|\s+/g

// Most tests run command lines in a process that they share. These ask the program itself, each command once.
it.each<[number, string[]]>([
  [0, ['serve', '--check']],
  [2, ['serve', '--check', '--config', 'none.mjs']],
  [
    0,
    [
      'send',
      '--print',
      '--callback-url',
      callbackUrl,
      '--timestamp',
      'Tue, 03 Nov 2026 09:14:27 GMT',
      '--key',
      'KEY',
      '--body-file',
      '-',
    ],
  ],
  [3, ['verify', RECORDED]],
  [3, ['verify', RECORDED, '--callback-url', 'https://other.example/']],
  [1, ['send', NOBODY_LISTENS, '--callback-url', callbackUrl]],
  [1, ['replay', RECORDED, '--url', NOBODY_LISTENS]],
  [2, ['inbox', 'stats']],
  [0, ['token', '--json']],
  [0, ['subscribe', '--event-type', 'a.b', '--callback-url', callbackUrl, '--secret-env', 'S', '--prepare']],
  [2, ['rotate', '--status']],
  [2, ['update-account', ...UPDATE, '--no-such-option']],
  [2, ['simulate', '--no-such-option']],
])('%d of the program, and the same output, in a process of its own: %j', async (code, args) => {
  const { env } = await startFakeService(sandbox)
  const config = `export default { subscriptions: [{ ...${JSON.stringify(SUBSCRIPTION)}, secret: process.env.COUNTERSIGN_SECRET }] }`
  const [own, shared] = await Promise.all(
    [countersignProcess, countersign].map(async (run) => {
      const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
      const ran = await run(args, {
        cwd,
        env: { ...env, COUNTERSIGN_SECRET: SUBSCRIPTION.secret },
        input: '{"Id":"1"}',
      })
      const fixed = (text: string) => text.replaceAll(cwd, '').replace(VARYING, '')
      return { code: ran.code, stdout: fixed(ran.stdout), stderr: fixed(ran.stderr) }
    }),
  )
  expect(shared).toEqual(own)
  expect(own!.code).toBe(code)
})

it('a configuration is loaded as it now is, and what it prints is part of the output', async () => {
  const cwd = await sandbox.directory({})
  for (const text of ['first', 'second']) {
    const config = `console.log('${text}')\nexport default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}] }`
    await writeFile(join(cwd, 'countersign.config.mjs'), config)
    expect(await countersign(['serve', '--check'], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${text}\n`)),
    })
  }
})
