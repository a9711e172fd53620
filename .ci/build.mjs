// Two passes of the compiler, one per module format. The CommonJS pass leaves the command line out: it is only
// ever started as a program, and it loads the user's configuration with import().
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tsc = join(root, 'node_modules/typescript/bin/tsc')
function compile(what, ...flags) {
  // Not on standard output, which belongs to whoever runs the build, such as `npm pack --json`.
  console.error(`building ${what} ...`)
  const { status } = spawnSync(process.execPath, [tsc, ...flags], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  // The compiler has said what is wrong.
  if (status !== 0) process.exit(status ?? 1)
}

rmSync(join(root, 'dist'), { recursive: true, force: true })
compile('ES modules')
compile('CommonJS', '-p', '.ci/tsconfig.cjs.json')
// Without this marker Node would read the CommonJS files as ES modules, as the package says "type": "module".
writeFileSync(join(root, 'dist/cjs/package.json'), '{"type":"commonjs"}\n')
const bin = join(root, 'dist/esm/cli/bin.js')
if (existsSync(bin)) chmodSync(bin, 0o755)
