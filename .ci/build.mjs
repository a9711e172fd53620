// One build for `import` and for `require`: CommonJS, whose exported names Node reads for ES modules. So each class exists once in a
// process, Jest needs no settings, and a stack trace names the file of src. The command line is joined to one file, as it is only
// started as a program, and is compiled apart, as it loads the user's configuration with a real import(). What no user can import,
// and no such file needs, is removed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

rmSync(dist, { recursive: true, force: true })
await compile()
// Without this marker Node would read the files as ES modules, as the package says "type": "module".
writeFileSync(join(dist, 'package.json'), '{"type":"commonjs"}\n')
writeBrowserLibraries()
await joinCommandLine()
removeUnused('.d.ts', /(?:from |import\()["'](\.[^"']+)\.js["']/g, typesOfEntryPoints())
removeUnused('.js', /\b(?:require|import)\(["'](\.[^"']+)\.js["']\)/g, programs())
chmodSync(join(dist, 'cli/bin.js'), 0o755)

async function compile() {
  // Not on standard output, which belongs to whoever runs the build, such as `npm pack --json`.
  console.error('building ...')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const compiler = spawn(process.execPath, [tsc, '-p', '.ci/tsconfig.json'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [status] = await once(compiler, 'exit')
  // The compiler has said what is wrong.
  if (status !== 0) process.exit(status ?? 1)
}

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
  writeFileSync(
    join(dist, 'console/assets/browser-libraries.js'),
    `'use strict'\nexports.browserLibraries = () => (${libraries})\n`,
  )
}

/** The package does not contain the source map that the last line names. */
function withoutMap(script) {
  return script.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
}

/** Node reads one file for a command instead of a hundred. What is outside src/cli stays outside, in the files of the package. */
async function joinCommandLine() {
  const cli = join(root, 'src/cli')
  const outside = {
    name: 'outside the command line',
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const file = join(resolveDir, path)
        // The tests call main() in a process of their own.
        if (file === join(cli, 'main.js')) return { path: './main.js', external: true }
        if (file.startsWith(`${cli}/`)) return undefined
        return { path: `../${relative(join(root, 'src'), file)}`, external: true }
      }),
  }
  await build({
    entryPoints: [join(cli, 'bin.ts'), join(cli, 'main.ts')],
    outdir: join(dist, 'cli'),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    plugins: [outside],
    logLevel: 'warning',
  })
}

function typesOfEntryPoints() {
  return Object.values(manifest.exports).flatMap(({ types }) => types ?? [])
}

function programs() {
  // A thread is started with the last but one. Jest and the benchmark of this repository load the last.
  const files = Object.values(manifest.exports).flatMap((entry) => entry.default ?? [])
  return [...files, ...Object.values(manifest.bin), 'dist/inbox/sqlite/thread.js', 'dist/server/server.js']
}

/** Keeps the files of this ending that the first ones lead to. */
function removeUnused(ending, imports, first) {
  const used = new Set(first.map((file) => join(root, file)))
  // The loop also visits what is added to the set meanwhile.
  for (const file of used) {
    for (const [, imported] of readFileSync(file, 'utf8').matchAll(imports))
      used.add(join(dirname(file), `${imported}${ending}`))
  }
  for (const name of readdirSync(dist, { recursive: true }))
    if (name.endsWith(ending) && !used.has(join(dist, name))) rmSync(join(dist, name))
}
