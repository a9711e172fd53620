import fs from 'node:fs'
import { Connection } from '../../src/inbox/sqlite/connection.js'
import { loadDriver } from '../../src/inbox/sqlite/driver.js'
import { startProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { inboxFile, temporaryDirectory } from '../support/sqlite-file.js'

// The permission model of Node refuses to sync files, and threads.
const isNode20 = process.versions.node.startsWith('20.')
const FLAGS = [
  isNode20 ? '--experimental-permission' : '--permission',
  '--allow-fs-read=*',
  '--allow-fs-write=*',
  '--allow-addons',
]

it('an inbox works in a process with the permission model, also when its log becomes long', async () => {
  const statements = `
    const inbox = new SqliteInbox({ file })
    for (let i = 0; i < 30; i++) await inbox.add(arrival({ body: JSON.stringify('x'.repeat(400_000)) }))
    await inbox.close()
    const again = new SqliteInbox({ file })
    print((await again.stats()).counts.stored)
    await again.close()`
  const program = buildInboxProgram(temporaryDirectory(), statements)
  const { ended } = startProgram(process.execPath, [...FLAGS, program, inboxFile()])
  expect(await ended).toEqual(['30'])
})

it('SQLite then syncs at each commit', async () => {
  const sync = jest.spyOn(fs, 'fdatasync')
  const driver = await loadDriver()
  const synchronousIn = async (file: string) => {
    const connection = new Connection(driver, file)
    connection.transaction(() => connection.run("INSERT INTO handled_types VALUES ('any.type', 1)"))
    await connection.sync()
    const { synchronous } = connection.get<{ synchronous: number }>('PRAGMA synchronous')!
    connection.close()
    return { isFull: synchronous === 2, syncs: sync.mock.calls.length }
  }
  expect(await synchronousIn(inboxFile())).toEqual({ isFull: false, syncs: 1 })
  sync.mockClear()
  Object.defineProperty(process, 'permission', { value: {}, configurable: true })
  try {
    expect(await synchronousIn(inboxFile())).toEqual({ isFull: true, syncs: 0 })
  } finally {
    Reflect.deleteProperty(process, 'permission')
  }
})
