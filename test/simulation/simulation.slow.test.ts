import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

it('the defects of --defects can be introduced in the sources', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(__dirname, 'run.mjs'), '--check'], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
