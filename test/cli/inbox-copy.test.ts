import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { configModule } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

let cwd: string
let inbox: SqliteInbox
beforeEach(async () => {
  cwd = await sandbox.directory({})
  inbox = new SqliteInbox({ file: join(cwd, 'old.db') })
  sandbox.after(() => inbox.close())
})

const copy = (...args: string[]) => countersign(['inbox', 'copy', ...args], { cwd })
const named = (file: string) => join(cwd, file)

async function dead(): Promise<void> {
  await inbox.add(arrival())
  const [claim] = (await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })).entries
  await inbox.begin([claim!], 60_000)
  await inbox.settle([{ claim: claim!, end: { move: 'deadLetter', error: 'no' } }])
}

it('copies what is finished, and the rest once nothing uses the inbox any more', async () => {
  await dead()
  await inbox.add(arrival())
  expect(await copy('--from', 'old.db', '--to', 'new.db')).toEqual({
    code: 0,
    stdout:
      `1 entry copied into ${named('new.db')}\n` +
      `1 entry not finished, and left in ${named('old.db')}: stop its receivers and workers, and run this again with --stopped\n`,
    stderr: '',
  })
  await inbox.act('1', 'retry', 'ann')
  await inbox.act('1', 'discard', 'ann')
  expect(await copy('--from', 'old.db', '--to', 'new.db', '--stopped')).toEqual({
    code: 0,
    stdout: `2 entries copied into ${named('new.db')}\n1 entry had changed since, or had been deleted\n`,
    stderr: '',
  })
  const { stdout } = await copy('--from', 'old.db', '--to', 'new.db', '--stopped', '--json')
  expect(JSON.parse(stdout)).toEqual({ copied: 0, outdated: 0, left: 0, withoutOrder: 0 })
})

it('takes the inbox of the environment or of the configuration for the one that is not named', async () => {
  await dead()
  const options = { cwd, env: { COUNTERSIGN_INBOX: 'new.db' } }
  const ran = await countersign(['inbox', 'copy', '--from', 'old.db'], options)
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining(named('new.db')) })

  const configured = await sandbox.directory({
    'countersign.config.mjs': configModule('', "inbox: { file: 'third.db' }"),
  })
  const { stdout, stderr } = await countersign(['inbox', 'copy', '--from', named('old.db')], {
    cwd: configured,
  })
  expect(stderr).toBe('')
  expect(stdout).toContain(join(configured, 'third.db'))
})

it('does not copy what a worker has', async () => {
  await inbox.add(arrival())
  await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
  const { code, stderr } = await copy('--from', 'old.db', '--to', 'new.db', '--stopped')
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /a worker has entry 1 of .*old\.db until 20.*Z: stop the workers, and run this again/,
  )
})

it('copies what a worker had that has died', async () => {
  await inbox.add(arrival())
  await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 0 })
  expect(await copy('--from', 'old.db', '--to', 'new.db', '--stopped')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('1 entry copied'),
  })
})

it('is refused where the other inbox has entries of its own', async () => {
  await dead()
  const other = new SqliteInbox({ file: named('new.db') })
  await other.add(arrival())
  await other.close()
  const { code, stderr } = await copy('--from', 'old.db', '--to', 'new.db')
  expect(code).toBe(2)
  expect(stderr).toContain('nothing was changed: entry 1 of')
  expect(stderr).toContain('copy into an empty one')
})

it.each([
  [[], 'name one inbox with --from or --to, or both'],
  [['--from', 'old.db', '--to', './old.db'], '--from and --to are the same inbox'],
  [['--from', 'none', '--to', 'new.db'], '--from says none: name an inbox'],
  [['--from', 'missing.db', '--to', 'new.db'], 'there is no inbox missing.db'],
  [['--from', 'old.db', '--to', 'postgres://a:secret@h/d'], '--to: a connection string with a password'],
])('%j is wrong usage', async (args, message) => {
  await dead()
  const { code, stdout, stderr } = await copy(...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
  expect(stderr).not.toContain('secret')
})
