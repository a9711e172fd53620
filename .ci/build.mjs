// Two passes of the compiler, one per module format. The CommonJS pass leaves the command line out: it is only
// ever started as a program, and it loads the user's configuration with import(). The ES modules are then joined in a few files, and
// types that no user can import are removed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tsc = join(root, 'node_modules/typescript/bin/tsc')
async function compile(what, ...flags) {
  // Not on standard output, which belongs to whoever runs the build, such as `npm pack --json`.
  console.error(`building ${what} ...`)
  const compiler = spawn(process.execPath, [tsc, ...flags], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [status] = await once(compiler, 'exit')
  // The compiler has said what is wrong.
  if (status !== 0) process.exit(status ?? 1)
}

rmSync(join(root, 'dist'), { recursive: true, force: true })
await Promise.all([
  compile('ES modules'),
  // The other pass checks the types of these files, which takes most of its time. `npm run typecheck` checks them for CommonJS too.
  compile('CommonJS', '-p', '.ci/tsconfig.cjs.json', '--noCheck'),
])
// Without this marker Node would read the CommonJS files as ES modules, as the package says "type": "module".
writeFileSync(join(root, 'dist/cjs/package.json'), '{"type":"commonjs"}\n')
writeBrowserLibraries()
writeOwnLocation()
await joinModules()
removeInternalTypes()
const bin = join(root, 'dist/esm/cli/bin.js')
if (existsSync(bin)) chmodSync(bin, 0o755)

/** Replaces src/console/assets/browser-libraries.ts, which reads the development dependencies. */
function writeBrowserLibraries() {
  const read = (file) => readFileSync(join(root, 'node_modules', file), 'utf8')
  // Both licences ask for, or allow, the text of the licence beside the copy.
  const licensed = (name, file) => `/*! ${read(`${name}/LICENSE`).trim()} */\n${withoutMap(read(file))}`
  const libraries = JSON.stringify({
    htmx: licensed('htmx.org', 'htmx.org/dist/htmx.min.js'),
    uPlot: licensed('uplot', 'uplot/dist/uPlot.iife.min.js'),
    uPlotStyle: licensed('uplot', 'uplot/dist/uPlot.min.css'),
  })
  const body = `function browserLibraries() {\n  return ${libraries}\n}\n`
  const module = 'console/assets/browser-libraries.js'
  writeFileSync(join(root, 'dist/esm', module), `export ${body}`)
  writeFileSync(
    join(root, 'dist/cjs', module),
    `'use strict'\nObject.defineProperty(exports, '__esModule', { value: true })\nexports.browserLibraries = browserLibraries\n${body}`,
  )
}

/** ES modules have no `__filename`, and the CommonJS pass does not compile `import.meta`. */
function writeOwnLocation() {
  const module = 'export function ownLocation() {\n  return import.meta.url\n}\n'
  writeFileSync(join(root, 'dist/esm/inbox/sqlite/own-location.js'), module)
}

/** The package does not contain the source map that the last line names. */
function withoutMap(script) {
  return script.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
}

/**
 * Node needs 0.7 ms of processor time to find, read and link one ES module, and the main entry point has more than a hundred:
 * joined, its import takes less than half the time. What several entry points share is in files that they have in common, so
 * that each class exists once.
 */
async function joinModules() {
  const folder = join(root, 'dist/esm')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const modules = [
    ...Object.values(manifest.exports).flatMap((entry) => entry.import?.default ?? []),
    ...Object.values(manifest.bin),
    // The tests and the benchmark of this repository load these.
    './dist/esm/console/assets/browser-libraries.js',
    './dist/esm/cli/main.js',
    './dist/esm/server/server.js',
  ]
  const { outputFiles } = await build({
    entryPoints: modules.map((module) => join(root, module)),
    outdir: folder,
    outbase: folder,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    chunkNames: 'shared/[name]-[hash]',
    legalComments: 'inline',
    logLevel: 'warning',
  })
  for (const file of readdirSync(folder, { recursive: true }))
    if (file.endsWith('.js')) rmSync(join(folder, file))
  for (const { path, contents } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, contents)
  }
}

/** The compiler writes the types of every source file. Most of them are in no entry point, and nobody can import them. */
function removeInternalTypes() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entryPoints = Object.values(manifest.exports).flatMap((entry) => [
    entry.import?.types,
    entry.require?.types,
  ])
  const used = new Set(entryPoints.filter(Boolean).map((file) => join(root, file)))
  const imports = /(?:from |import\()["'](\.[^"']+)\.js["']/g
  // The loop also visits what is added to the set meanwhile.
  for (const file of used) {
    for (const [, imported] of readFileSync(file, 'utf8').matchAll(imports))
      used.add(join(dirname(file), `${imported}.d.ts`))
  }
  const dist = join(root, 'dist')
  for (const name of readdirSync(dist, { recursive: true }))
    if (name.endsWith('.d.ts') && !used.has(join(dist, name))) rmSync(join(dist, name))
}
