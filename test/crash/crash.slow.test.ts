import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

it('after kills at every step nothing that was acknowledged is lost, stuck, or handled twice at once', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(__dirname, 'run.mjs'), '--kills', '63'],
    {
      encoding: 'utf8',
    },
  )
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' })
}, 300_000)
