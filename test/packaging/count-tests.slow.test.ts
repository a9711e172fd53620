import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../support/sqlite-file.js'

const COUNT_TESTS = join(__dirname, '../../.ci/count-tests.mjs')

/** What the script says of a run with one test that passed, and others. */
function counted(...others: { status: string; fullName: string }[]) {
  const folder = temporaryDirectory()
  const failed = others.filter(({ status }) => status === 'failed')
  const report = {
    numPassedTests: 1,
    numFailedTests: failed.length,
    numRuntimeErrorTestSuites: 0,
    numTotalTests: 1 + others.length,
    testResults: [{ assertionResults: [{ status: 'passed', fullName: 'a' }, ...others] }],
  }
  writeFileSync(join(folder, 'v20.json'), JSON.stringify(report))
  const { status, stdout } = spawnSync(process.execPath, [COUNT_TESTS, folder], { encoding: 'utf8' })
  return { status, lines: stdout.trim().split('\n') }
}

describe('the tests of a whole run', () => {
  it('have passed', () => {
    expect(counted()).toEqual({ status: 0, lines: ['v20: 1 of 1 tests passed', '1 passed, 0 failed'] })
  })

  it('may be skipped for another version of Node', () => {
    const fullName = 'opens few files (needs Linux and Node.js 20)'
    expect(counted({ status: 'pending', fullName })).toMatchObject({ status: 0 })
  })

  it.each(['pending', 'todo'])('may not be skipped otherwise: %s', (status) => {
    expect(counted({ status, fullName: 'reads the disk (needs strace)' })).toEqual({
      status: 1,
      lines: [
        'v20: 1 of 2 tests passed',
        '  skipped: reads the disk (needs strace)',
        '1 skipped although they are for this version of Node',
        '1 passed, 0 failed',
      ],
    })
  })

  it('have not passed if one has failed', () => {
    expect(counted({ status: 'failed', fullName: 'b' })).toMatchObject({ status: 1 })
  })
})
