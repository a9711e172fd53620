import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../support/sqlite-file.js'

const root = join(__dirname, '../..')
const file = (name: string, covered: number, total: number) => ({
  [join(root, 'src', name)]: { lines: { covered, total } },
})

/** What the script says of two folders with these floors. */
function measured(floors: object, ...flags: string[]) {
  const folder = temporaryDirectory()
  const floorsFile = join(folder, 'floors.json')
  writeFileSync(floorsFile, JSON.stringify(floors))
  const summary = {
    total: { lines: { covered: 0, total: 0 } },
    ...file('base/errors.ts', 60, 100),
    ...file('base/deep/timeout.ts', 99, 100),
    ...file('inbox/states.ts', 10, 10),
    ...file('index.ts', 0, 50),
  }
  writeFileSync(join(folder, 'coverage-summary.json'), JSON.stringify(summary))
  const args = [join(root, '.ci/coverage.mjs'), folder, ...flags]
  const env = { ...process.env, COVERAGE_FLOORS: floorsFile }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
  return { status, stdout, stderr, floors: JSON.parse(readFileSync(floorsFile, 'utf8')) }
}

describe('the lines that tests run', () => {
  it('are reported for each folder, rounded down', () => {
    expect(measured({}).stdout).toBe(
      'lines that the tests of signature, inbox and worker run, in percent: base 79, inbox 100\n',
    )
  })

  it('may not become fewer', () => {
    expect(measured({ base: 79, inbox: 100 }).status).toBe(0)
    const { status, stderr } = measured({ base: 80, inbox: 100 })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('src/base is 79 percent'),
    })
  })

  it('raise the floor of a folder, and never lower it', () => {
    expect(measured({ base: 85, inbox: 90 }, '--write').floors).toEqual({ base: 85, inbox: 99 })
  })
})
