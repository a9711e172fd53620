import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { refuseUnbuilt } from './test-run.js'

it('tests do not run without the built package, and the error says how to build it', () => {
  const root = mkdtempSync(join(tmpdir(), 'unbuilt-'))
  try {
    const program = join(root, 'dist/cli/bin.js')
    expect(() => refuseUnbuilt(root)).toThrow(
      'dist/cli/bin.js: no such file, but tests start it: run "npm run build" first.',
    )
    mkdirSync(dirname(program), { recursive: true })
    writeFileSync(program, '')
    refuseUnbuilt(root)
  } finally {
    rmSync(root, { recursive: true })
  }
})
