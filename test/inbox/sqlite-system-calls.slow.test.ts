import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildInboxProgram } from '../support/inbox-program.js'
import { itWhere } from '../support/it-where.js'
import { temporaryDirectory } from '../support/sqlite-file.js'

const canTrace = spawnSync('strace', ['-f', 'true'], { stdio: 'ignore' }).status === 0
const itTraced = itWhere(canTrace, 'strace')

/** Runs a program whose argument is the file of an inbox. Resolves to what it has printed and to its system calls. */
async function traced(statements: string, ...options: string[]) {
  const directory = temporaryDirectory()
  const trace = join(directory, 'trace')
  const file = join(directory, 'callbacks.db')
  const program = buildInboxProgram(directory, statements)
  const calls = [
    '-f',
    '-y',
    '-s',
    '64',
    '-e',
    'trace=pwrite64,write,fdatasync,fsync',
    '-o',
    trace,
    ...options,
  ]
  const { stdout } = await promisify(execFile)('strace', [...calls, process.execPath, program, file])
  return { printed: stdout.trim().split('\n'), calls: readFileSync(trace, 'utf8').split('\n') }
}

// With -f a call is in two lines where another thread did something meanwhile: "<unfinished ...>" and "<... resumed>".
itTraced(
  'each answer comes after a sync of the log that began after the last write to it',
  async () => {
    const { printed, calls } = await traced(`
      const inbox = new SqliteInbox({ file })
      // So many that the log begins anew in between.
      for (let i = 0; i < 60; i++) {
        await inbox.add(arrival({ body: JSON.stringify('x'.repeat(400_000)) }))
        fs.writeSync(1, 'stored ' + i + '\\n')
      }
      await inbox.close()
    `)
    expect(printed).toHaveLength(60)
    let answers = 0
    let isSynced = false
    /** The threads whose sync of the log began after the last write to it. */
    const syncing = new Set<string>()
    for (const line of calls) {
      const thread = line.split(' ', 1)[0]!
      if (/pwrite64\(\d+<[^>]*-wal>/.test(line)) {
        isSynced = false
        syncing.clear()
      } else if (/(fdatasync|fsync)\(\d+<[^>]*-wal>/.test(line)) {
        if (line.endsWith('<unfinished ...>')) syncing.add(thread)
        else isSynced = true
      } else if (/<\.\.\. (fdatasync|fsync) resumed>.* = 0$/.test(line)) {
        if (syncing.delete(thread)) isSynced = true
      } else if (line.includes('"stored ')) {
        expect(isSynced).toBe(true)
        answers++
      }
    }
    expect(answers).toBe(60)
  },
  120_000,
)

itTraced(
  'a callback whose sync failed is refused, and a repeat of it is recognised once it is on the disk',
  async () => {
    const { printed, calls } = await traced(
      `
      const inbox = new SqliteInbox({ file })
      await inbox.open()
      const twin = arrival()
      const codes = new Set()
      for (;;) {
        const { result, code } = await inbox.add(twin).catch((error) => error)
        if (code) codes.add(code)
        else {
          fs.writeSync(1, [...codes, result].join() + '\\n')
          break
        }
        await delay(20)
      }
      await inbox.close()
      `,
      // A new file takes nine, and a log that begins anew one.
      '-e',
      'inject=fsync,fdatasync:error=EIO:when=11',
    )
    expect(printed).toEqual(['ERR_INBOX_IO,duplicate'])
    const failedAt = calls.findLastIndex((line) => line.includes('(INJECTED)'))
    const answeredAt = calls.findIndex((line) => line.includes('duplicate'))
    expect(failedAt).toBeGreaterThan(-1)
    expect(calls.slice(failedAt, answeredAt)).toContainEqual(
      expect.stringMatching(/(fdatasync|fsync)\(\d+<[^>]*callbacks\.db\.new>.* = 0$/),
    )
  },
  120_000,
)
