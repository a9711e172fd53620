import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { browserLibraries } from '../../src/console/assets/browser-libraries.js'

const root = join(__dirname, '../..')
const MODULE = 'console/assets/browser-libraries.js'

/** As in a project that has the package, and none of its development dependencies. */
function librariesOf(type: 'module' | 'commonjs'): Record<string, string> {
  const module = join(root, 'dist', type === 'module' ? 'esm' : 'cjs', MODULE)
  const load =
    type === 'module' ? `await import('${pathToFileURL(module).href}')` : `require(${JSON.stringify(module)})`
  const program = `console.log(JSON.stringify((${load}).browserLibraries()))`
  const options = { cwd: tmpdir(), encoding: 'utf8', maxBuffer: 1e7 } as const
  return JSON.parse(execFileSync(process.execPath, [`--input-type=${type}`, '-e', program], options))
}

test.each(['module', 'commonjs'] as const)('the build as %s contains the browser libraries', (type) => {
  const built = librariesOf(type)
  for (const [name, text] of Object.entries(browserLibraries())) {
    // Before the code stands the licence, and the reference to a source map is missing.
    const code = text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '').trim()
    expect(built[name]!.trim().endsWith(code)).toBe(true)
    expect(built[name]!).toMatch(/^\/\*! [^]*?Permission[^]*? \*\//)
    expect(built[name]!).not.toContain('sourceMappingURL')
  }
})
