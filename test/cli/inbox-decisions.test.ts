import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { countersign, countersignProcess, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const BY = ['--by', 'ann']

/** The folder of an inbox with so many entries that are stored. */
async function withStored(count: number, files: Record<string, string> = {}): Promise<string> {
  const cwd = await sandbox.directory(files)
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  for (let stored = 0; stored < count; stored++) await inbox.add(arrival())
  await inbox.close()
  return cwd
}

it.each(['discard', 'undo'])('an id that is given twice is one entry: %s', async (action) => {
  const cwd = await withStored(2)
  await countersign(['inbox', 'discard', '1', '2', ...BY], { cwd })
  if (action === 'discard') await countersign(['inbox', 'undo', '1', '2', ...BY], { cwd })
  const ran = await countersign(['inbox', action, '1', '2', '1', ...BY], { cwd })
  expect(ran).toEqual({ code: 0, stdout: `entry 1: ${action}\nentry 2: ${action}\n`, stderr: '' })
})

describe('decisions of which a later one fails', () => {
  const sqlite = pathToFileURL(join(__dirname, '../../dist/sqlite.js')).href
  /** An inbox that fails with the third decision. */
  const FAILING = `
    import { SqliteInbox } from '${sqlite}'
    const inbox = new SqliteInbox({ file: 'callbacks.db' })
    const act = inbox.act.bind(inbox)
    inbox.act = async (id, ...rest) => {
      if (id !== '3') return act(id, ...rest)
      throw Object.assign(new Error('the disk is full'), { code: 'ERR_TEST' })
    }
    export default { subscriptions: [], inbox }`

  it.each(['discard', 'undo'])('are printed as far as they were made: %s', async (action) => {
    const cwd = await withStored(4, { 'countersign.config.mjs': FAILING })
    const ids = ['1', '2', '3', '4']
    if (action === 'undo')
      await countersign(['inbox', 'discard', ...ids, ...BY, '--inbox', 'callbacks.db'], { cwd })
    expect(await countersign(['inbox', action, ...ids, ...BY], { cwd })).toEqual({
      code: 1,
      stdout: `entry 1: ${action}\nentry 2: ${action}\n`,
      stderr: 'countersign: the disk is full\n',
    })
    // The inbox of the module is closed, so another process loads it.
    const { stdout } = await countersignProcess(['inbox', action, '1', '3', ...BY, '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ results: [{ id: '1', done: false }] })
  })
})
