import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describeWithPostgres } from '../support/postgres-server.js'

const FLEET = ['--receivers', '2', '--workers', '2']

describe('after kills at every step nothing that was acknowledged is lost, stuck, or handled twice at once', () => {
  it('with SQLite, two receivers and two workers', () => {
    expectPromisesHold(['--kills', '16', ...FLEET])
  }, 300_000)
})

describeWithPostgres('after kills at every step, of processes and of the database', () => {
  const args = ['--inbox', 'postgres', '--kills', '16', '--at-once', '4', ...FLEET]

  it('a transactional handler has written one row for each callback that was acknowledged', () => {
    expectPromisesHold(['--transactional', ...args])
  }, 300_000)
})

function expectPromisesHold(args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(__dirname, 'run.mjs'), ...args], {
    encoding: 'utf8',
  })
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' })
}

it('the defects that mutations.mjs introduces can be introduced in the sources', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(__dirname, 'mutations.mjs'), '--check'], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
