import { statSync } from 'node:fs'
import { join } from 'node:path'
import { itWhere } from '../support/it-where.js'
import { canMakeDisks, SmallDisk } from '../support/small-disk.js'
import { countersignProcess, countersignUnread, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

/** A configuration with an inbox of so many entries of 200 kB. */
function inboxOf(entries: number): Promise<string> {
  return sandbox.directory({
    'countersign.config.mjs': `
      const ids = (count) => Array.from({ length: count }, (_, index) => ({ id: String(index) }))
      const methods = {
        list: (_filter, { limit }) => {
          const entries = ids(Math.min(limit, ${entries}))
          return { entries, next: ${entries} > limit ? '1' : undefined }
        },
        show: (id) => ({ id, rawBody: Buffer.alloc(200_000) }),
        then: undefined,
      }
      const get = (_, name) => (name in methods ? methods[name] : () => {})
      export default { subscriptions: [], inbox: new Proxy({}, { get, has: () => true }) }`,
  })
}

it('ends when the reader of its output has ended', async () => {
  const cwd = await inboxOf(Infinity)
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
      {
        cwd: await inboxOf(1),
      },
    )
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('ENOSPC') as string })
    expect(statSync(file).size).toBeGreaterThan(0)
  },
)
