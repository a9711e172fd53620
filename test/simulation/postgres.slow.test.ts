import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWithPostgres } from '../support/postgres-server.js'

async function simulated(...args: readonly string[]): Promise<string> {
  const program = [join(__dirname, 'run.mjs'), '--inbox', 'postgres', ...args]
  const { stdout } = await promisify(execFile)(process.execPath, program)
  return stdout
}

describeWithPostgres('simulated schedules with PostgreSQL', () => {
  it('nothing is wrong in the first ones', async () => {
    expect(await simulated('--seed', '1', '--runs', '12')).toContain('\n12 schedules, ')
  }, 120_000)

  it('a seed is one run, also where statements wait for locks', async () => {
    const traceOf = async () => (await simulated('--seed', '98', '--trace')).split('\n').slice(0, -2)
    const trace = await traceOf()
    expect(trace.length).toBeGreaterThan(30)
    expect(await traceOf()).toEqual(trace)
  }, 120_000)

  it('a call is carried out also when its process has given it up before it arrived', async () => {
    const plan = join(__dirname, 'found/carried-out-after-it-was-given-up.json')
    expect(await simulated('--plan', plan)).toContain('\n1 schedules, ')
  }, 120_000)
})
