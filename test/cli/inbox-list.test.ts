import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

it.each([[[]], [['--json']]])('a list that --limit cuts off says that there are more: %j', async (format) => {
  const cwd = await sandbox.directory({})
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  for (let stored = 0; stored < 3; stored++) await inbox.add(arrival())
  await inbox.close()
  const list = (limit: string) => countersign(['inbox', 'list', '--limit', limit, ...format], { cwd })
  const { stdout, ...cut } = await list('2')
  expect(stdout).not.toMatch(/^3 |"id":"3"/m)
  expect(cut).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^countersign: these are the oldest 2, and there are more: raise --limit/),
  })
  expect(await list('3')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^3 |"id":"3"/m),
  })
})
