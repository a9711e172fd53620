import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

it.each([
  ['one process', ['--kills', '63']],
  ['two receivers and two workers', ['--kills', '48', '--receivers', '2', '--workers', '2']],
])(
  'after kills at every step nothing that was acknowledged is lost, stuck, or handled twice at once: %s',
  (_which, args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(__dirname, 'run.mjs'), ...args], {
      encoding: 'utf8',
    })
    expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' })
  },
  300_000,
)
