import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Arrival } from '../../src/inbox/engine.js'
import { ENGINE, type Inbox } from '../../src/inbox/inbox.js'
import type { SqliteInbox } from '../../src/sqlite.js'
import { arrival } from '../support/arrivals.js'
import { startProgram } from '../support/built-program.js'
import { collectedLog } from '../support/collected-log.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { inboxFile, temporaryDirectory } from '../support/sqlite-file.js'

// Only the built package has the program of a thread.
const BUILT = join(__dirname, '../../dist/sqlite.js')
const built = require(BUILT) as { SqliteInbox: typeof SqliteInbox }

const open: Inbox[] = []
afterEach(() => Promise.all(open.splice(0).map((inbox) => inbox.close())))

function inboxOn(options: ConstructorParameters<typeof SqliteInbox>[0]) {
  const inbox = new built.SqliteInbox(options)
  open.push(inbox)
  return { inbox, add: (each: Arrival) => inbox[ENGINE].add(each) }
}

// Not in the process of Jest: what comes from a thread belongs to another realm there, and equals nothing of the test.
it('an inbox passes the tests of every inbox', async () => {
  const program = buildInboxProgram(
    temporaryDirectory(),
    `
    const { registerInboxTests } = require('../inbox/contract/register-inbox-tests.js')
    const { fakeClock } = require('./fake-clock.js')
    const path = ${JSON.stringify(BUILT)}
      const built = require(path)
    const OF_ENGINE = ['open', 'add', 'claim', 'begin', 'extend', 'settle', 'rememberProbe', 'close']
    const tests = []
    let number = 0
    const empty = new built.SqliteInbox({ file })
    await empty.open()
    await empty.close()
    registerInboxTests(
      (retention) => {
        const clock = fakeClock()
        // To make the schema in each test takes longer than the test.
        fs.copyFileSync(file, file + ++number)
        const inbox = new built.SqliteInbox({ file: file + number, ...retention, clock, logger: false })
        const engine = inbox[Symbol.for('countersign.engine')]
        const of = (name) => (OF_ENGINE.includes(name) ? engine : inbox)
        const get = (_, name) => (typeof inbox[name] === 'function' || of(name) === engine ? of(name)[name].bind(of(name)) : inbox[name])
        return { inbox: new Proxy(inbox, { get }), advance: (ms) => clock.advance(ms) }
      },
      { describe: (_name, register) => register(), it: (name, test) => tests.push({ name, test }) },
    )
    for (const { name, test } of tests) await test().catch((error) => print('FAILED ' + name + ': ' + error.stack))
    print(tests.length)
    process.exit()`,
  )
  const lines = await startProgram(process.execPath, [program, inboxFile()]).ended
  expect(lines.slice(0, -1)).toEqual([])
  expect(Number(lines.at(-1))).toBeGreaterThan(200)
}, 300_000)

describe('in a thread', () => {
  it('the errors have their codes, messages and causes', async () => {
    const file = join(temporaryDirectory(), 'missing', 'callbacks.db')
    const { inbox, add } = inboxOn({ file, logger: false })
    await expect(add(arrival())).rejects.toMatchObject({
      name: 'CountersignError',
      code: 'ERR_INBOX_IO',
      message: expect.stringContaining(`${file} cannot be opened, read or written`),
      cause: { code: 'ENOENT' },
    })
    await expect(inbox.stats()).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
  })

  it('a handler is given dates and bytes of its own realm', async () => {
    const { inbox, add } = inboxOn({ file: inboxFile(), logger: false })
    await add(arrival())
    const { entries } = await inbox[ENGINE].claim({ eventTypes: 'any', limit: 1, leaseMs: 1_000 })
    expect(entries[0]?.callback.signedAt).toBeInstanceOf(Date)
    expect(entries[0]?.callback.receivedAt).toBeInstanceOf(Date)
    expect(entries[0]?.callback.rawBody).toBeInstanceOf(Buffer)
  })

  it('what it logs is in the log of the inbox', async () => {
    const log = collectedLog()
    const file = inboxFile()
    const { add } = inboxOn({ file, logger: log })
    await add(arrival())
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending)
    expect((await add(arrival())).result).toBe('stored')
    expect(log.withCode('ERR_INBOX_REPLACED')).toEqual([
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ file }) }),
    ])
  })

  it('is started again when it has ended', async () => {
    const program = buildInboxProgram(
      temporaryDirectory(),
      `
      const started = []
      process.on('worker', (worker) => started.push(worker))
      const path = ${JSON.stringify(BUILT)}
      const built = require(path)
      const inbox = new built.SqliteInbox({ file, logger: false })
      const engine = inbox[Symbol.for('countersign.engine')]
      await engine.add(arrival())
      const adding = engine.add(arrival()).catch(({ code }) => code)
      await started[0].terminate()
      print((await adding).result ?? (await adding))
      await engine.add(arrival())
      print((await inbox.stats()).counts.stored >= 2 && started.length === 2)
      await inbox.close()`,
    )
    const [during, after] = await startProgram(process.execPath, [program, inboxFile()]).ended
    expect(['ERR_INBOX_IO', 'stored']).toContain(during)
    expect(after).toBe('true')
  })

  it('does not keep a process alive that waits for nothing', async () => {
    const program = buildInboxProgram(
      temporaryDirectory(),
      `
      const path = ${JSON.stringify(BUILT)}
      const built = require(path)
      const inbox = new built.SqliteInbox({ file })
      await inbox.open()
      print('open')`,
    )
    expect(await startProgram(process.execPath, [program, inboxFile()]).ended).toEqual(['open'])
  })
})
