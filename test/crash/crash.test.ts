import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

// The full run, of some two hundred kills, is `npm run test:crash`; its result is in docs/crash-matrix.md.
it('after kills at every step nothing that was acknowledged is lost, stuck, or handled twice at once', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(__dirname, 'run.mjs'), '--kills', '18'],
    {
      encoding: 'utf8',
    },
  )
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' })
}, 120_000)
