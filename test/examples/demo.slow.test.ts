import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const DEMO = join(__dirname, '../../examples/demo.mjs')

describe('the demo', () => {
  it('shows progress where it waits, and tables that fit 100 columns', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [DEMO])
    expect(stdout).toMatch(/^callbacks: \d+ of 570$/m)
    expect(stdout).toMatch(/^waiting until the inbox is empty: \d+ of \d+$/m)
    expect(stdout).toContain('Nothing authentic was lost')
    expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100)
  }, 60_000)
})
