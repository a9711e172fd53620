import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

// One kill at each step. `npm run test:slow` has others, and `npm run test:crash` the full run of docs/evidence.md.
it('after a kill at every step nothing that was acknowledged is lost, stuck, or handled twice at once', () => {
  const args = [join(__dirname, 'run.mjs'), '--kills', '9', '--together']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' })
}, 120_000)
