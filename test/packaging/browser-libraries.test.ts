import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { browserLibraries } from '../../src/console/assets/browser-libraries.js'

const root = join(__dirname, '../..')

/** As in a project that has the package, and none of its development dependencies. */
function builtLibraries(): Record<string, string> {
  const module = join(root, 'dist/console/assets/browser-libraries.js')
  const program = `console.log(JSON.stringify(require(${JSON.stringify(module)}).browserLibraries()))`
  const options = { cwd: tmpdir(), encoding: 'utf8', maxBuffer: 1e7 } as const
  return JSON.parse(execFileSync(process.execPath, ['-e', program], options))
}

test('the build contains the browser libraries', () => {
  const built = builtLibraries()
  for (const [name, text] of Object.entries(browserLibraries())) {
    // Before the code stands the licence, and the reference to a source map is missing.
    const code = text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '').trim()
    expect(built[name]!.trim().endsWith(code)).toBe(true)
    expect(built[name]!).toMatch(/^\/\*! [^]*?Permission[^]*? \*\//)
    expect(built[name]!).not.toContain('sourceMappingURL')
  }
})
