import { statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { arrival } from '../support/arrivals.js'
import { itWhere } from '../support/it-where.js'
import { canMakeDisks, SmallDisk } from '../support/small-disk.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { countersignProcess, countersignUnread, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const LIBRARY = pathToFileURL(join(__dirname, '../../dist/sqlite.js')).href

/** The pages of this inbox never end: each is the first one. */
const ENDLESS = `
  import { SqliteInbox } from '${LIBRARY}'
  class Endless extends SqliteInbox {
    async list(filter, { limit }) {
      return { ...(await super.list(filter, { limit })), next: '1' }
    }
  }
  export default { subscriptions: [], inbox: new Endless({ file: 'callbacks.db' }) }`

/** A folder with an inbox that has one entry of 200 kB. */
async function withEntry(files: Record<string, string> = {}): Promise<string> {
  const cwd = await sandbox.directory(files)
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  await inbox.add(arrival({ body: Buffer.alloc(200_000) }))
  await inbox.close()
  return cwd
}

it('ends when the reader of its output has ended', async () => {
  const cwd = await withEntry({ 'countersign.config.mjs': ENDLESS })
  expect(await countersignUnread(['inbox', 'list', '--json', '--body'], { cwd })).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  })
})

itWhere(canMakeDisks, 'root to mount a small disk')(
  'fails when the disk has room for a part of the last line only',
  async () => {
    const disk = new SmallDisk(1)
    sandbox.after(async () => disk.remove())
    disk.fill(100_000)
    const file = join(disk.folder, 'out.jsonl')
    const { code, stderr } = await countersignProcess(
      ['inbox', 'list', '--json', '--body', '--output', file],
      { cwd: await withEntry() },
    )
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('ENOSPC') as string })
    expect(statSync(file).size).toBeGreaterThan(0)
  },
)
