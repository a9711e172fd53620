import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(__dirname, '../../fixtures/vectors')

// Needs openssl: apt-get install openssl, or brew install openssl.
test('make-vectors.sh makes the committed file again, byte for byte', () => {
  const { stdout, stderr, status } = spawnSync('sh', [join(folder, 'make-vectors.sh')], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toBe(readFileSync(join(folder, 'signature.json'), 'utf8'))
}, 120_000)
