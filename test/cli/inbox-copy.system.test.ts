import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { arrival } from '../support/arrivals.js'
import { describeWithDatabase } from '../support/postgres-inbox.js'
import { until } from '../support/until.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { countersignProcess, Sandbox } from './program.js'

const BIN = join(__dirname, '../../dist/cli/bin.js')
const ENTRIES = 5_000

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

describeWithDatabase('a copy from a file into PostgreSQL', (database) => {
  it('continues after it was killed, and nothing that was handled is handled again', async () => {
    const cwd = await sandbox.directory({})
    const source = new SqliteInbox({ file: join(cwd, 'old.db') })
    sandbox.after(() => source.close())
    const handled = arrival()
    await source.add(handled)
    const claims = await source.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
    await source.settle(claims.entries.map((claim) => ({ claim, end: { move: 'complete' } })))
    for (let left = ENTRIES; left > 0; left -= 1_000)
      await Promise.all(Array.from({ length: 1_000 }, () => source.add(arrival())))

    const args = ['inbox', 'copy', '--from', 'old.db', '--to', database.connectionString, '--stopped']
    const first = spawn(process.execPath, [BIN, ...args], { cwd, stdio: 'ignore' })
    const inTarget = async () => {
      const sql = 'SELECT count(*)::integer AS count FROM countersign.entries'
      const { rows } = await database.query(sql).catch(() => ({ rows: [{ count: 0 }] }))
      return rows[0].count as number
    }
    await until(async () => (await inTarget()) > 0)
    first.kill('SIGKILL')
    await once(first, 'exit')
    const before = await inTarget()
    expect(before).toBeLessThan(ENTRIES)
    // Batches are copied whole or not at all.
    expect(before % 500).toBe(0)

    const second = await countersignProcess(args, { cwd })
    expect(second.stdout).toMatch(/^[\d,]+ entries copied into schema "countersign" of PostgreSQL database/)
    expect(second.code).toBe(0)
    expect(await inTarget()).toBe(ENTRIES + 1)

    const target = database.inboxOn('countersign')
    expect((await target.stats()).counts).toMatchObject({ handled: 1, stored: ENTRIES })
    expect(await target.add(handled)).toMatchObject({ result: 'duplicate', id: '1' })
    const [next] = (await target.claim({ eventTypes: 'any', limit: 1, leaseMs: 1 })).entries
    expect(next).toMatchObject({ id: '2', attempt: 1 })
  }, 120_000)
})
