import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { startProgram, untilPrinted } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { randomRuns } from '../support/random-runs.js'
import { openAside, temporaryDirectory } from '../support/sqlite-file.js'

/** Each at a moment that nobody chose. */
const KILLS = randomRuns(12)

describe('several processes on one file', () => {
  it('store each callback once, and handle it once', async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'callbacks.db')
    const keys = Array.from({ length: 200 }, () => randomUUID())
    const program = buildInboxProgram(
      directory,
      `
      const inbox = new SqliteInbox({ file })
      const keys = ${JSON.stringify(keys)}
      const stored = [], handled = []
      for (let i = 0; i < keys.length; i += 10) {
        const adding = keys.slice(i, i + 10).map((idempotencyKey) => inbox.add(arrival({ idempotencyKey, body: '{}' })))
        for (const { result, id } of await Promise.all(adding)) if (result === 'stored') stored.push(id)
        for (const claim of (await inbox.claim({ eventTypes: "any", limit: 7, leaseMs: 60_000 })).entries) {
          if ((await inbox.settle([{ claim, end: { move: 'complete' } }])).size === 1) handled.push(claim.id)
        }
      }
      print(JSON.stringify({ stored, handled }))
      await inbox.close()
    `,
    )
    const printed = await Promise.all(
      Array.from({ length: 3 }, () => startProgram(process.execPath, [program, file]).ended),
    )
    const reports = printed.map(([line]) => JSON.parse(line!) as { stored: string[]; handled: string[] })
    const stored = reports.flatMap((report) => report.stored)
    const handled = reports.flatMap((report) => report.handled)
    expect(stored).toHaveLength(keys.length)
    expect(new Set(stored).size).toBe(keys.length)
    expect(new Set(handled).size).toBe(handled.length)

    const inbox = new SqliteInbox({ file })
    const { counts } = await inbox.stats()
    await inbox.close()
    expect(counts.handled).toBe(handled.length)
    expect(counts.handled + counts.stored).toBe(keys.length)
  }, 60_000)
})

describe('a process that is killed while it writes', () => {
  it('has lost nothing that it had answered', async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'callbacks.db')
    // The worker's moves are cut off as well as the adds.
    const program = buildInboxProgram(
      directory,
      `
      const inbox = new SqliteInbox({ file, busyTimeoutMs: 10_000 })
      const printed = (word) => (value) => fs.writeSync(1, word + ' ' + value + '\\n')
      for (;;) {
        const adding = Array.from({ length: 20 }, () => inbox.add(arrival()).then(({ id }) => printed('added')(id)))
        const { entries: claims } = await inbox.claim({ eventTypes: "any", limit: 10, leaseMs: 1 })
        const ending = claims.map((claim) =>
          inbox.settle([{ claim, end: { move: 'complete' } }]).then(({ size }) => size === 1 && printed('handled')(claim.id)),
        )
        await Promise.all([...adding, ...ending])
      }
    `,
    )
    const added: number[] = []
    const handled: number[] = []
    for (let round = 0; round < KILLS; round++) {
      const running = startProgram(process.execPath, [program, file])
      const { child, lines, ended } = running
      await untilPrinted([running], () => lines.length >= 100 + 150 * Math.random())
      child.kill('SIGKILL')
      // What is cut off has not been answered.
      for (const line of await ended) {
        const [, word, id] = /^(added|handled) (\d+)$/.exec(line) ?? []
        if (word) (word === 'added' ? added : handled).push(Number(id))
      }
    }

    const database = await openAside(file)
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    const states = new Map(
      (database.prepare('SELECT id, state FROM entries').all() as { id: number; state: string }[]).map(
        ({ id, state }) => [id, state],
      ),
    )
    database.close()
    expect(added.filter((id) => !states.has(id))).toEqual([])
    expect(handled.filter((id) => states.get(id) !== 'handled')).toEqual([])
    expect(added.length).toBeGreaterThan(KILLS * 40)
  }, 60_000)
})
