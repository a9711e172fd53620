import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { inboxFile, temporaryDirectory } from '../support/sqlite-file.js'

// The permission model of Node refuses threads, unless they are allowed.
const isNode20 = process.versions.node.startsWith('20.')
const FLAGS = [
  isNode20 ? '--experimental-permission' : '--permission',
  '--allow-fs-read=*',
  '--allow-fs-write=*',
  '--allow-addons',
]

it('an inbox works in a process with the permission model, also when its log becomes long', async () => {
  const statements = `
    const path = ${JSON.stringify(join(__dirname, '../../dist/sqlite.js'))}
    const built = require(path)
    const engine = (inbox) => inbox[Symbol.for('countersign.engine')]
    const inbox = new built.SqliteInbox({ file })
    for (let i = 0; i < 30; i++) await engine(inbox).add(arrival({ body: JSON.stringify('x'.repeat(400_000)) }))
    await inbox.close()
    const again = new built.SqliteInbox({ file })
    print((await again.stats()).counts.stored)
    await again.close()`
  const program = buildInboxProgram(temporaryDirectory(), statements)
  const { ended, complaints } = startProgram(process.execPath, [...FLAGS, program, inboxFile()])
  expect(await ended).toEqual(['30'])
  expect(complaints()).toContain('WARN_INBOX_WITHOUT_THREAD the inbox has no thread of its own')
})

it('goes on after a kill, and says what to do when a write to the disk has failed', async () => {
  const file = inboxFile()
  const program = buildInboxProgram(
    temporaryDirectory(),
    `
    const inbox = new SqliteInbox({ file, logger: false })
    print(await inbox.add(arrival()).then(({ result }) => result, ({ code, message }) => code + message))
    process.kill(process.pid, 'SIGKILL')`,
  )
  const added = () => startProgram(process.execPath, [...FLAGS, program, file]).ended
  expect(await added()).toEqual(['stored'])
  expect(await added()).toEqual(['stored'])
  truncateSync(`${file}-doubt`, 1)
  expect(await added()).toEqual([
    expect.stringMatching(/^ERR_INBOX_IO.*run "countersign inbox check" without that model$/),
  ])
})
