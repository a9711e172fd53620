// Users copy the examples: each is copied out of the repository, installed with the packed tarball in place of the
// registry's version, and tested by its own `npm test`.
//
//   node .ci/examples.mjs [NAME...]    these only; all of them by default
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { npmInstall, pack, root, run, sqliteForOldNode } from './packed-package.mjs'

const examples = join(root, 'examples')
// What working with an example in its place leaves there.
const LEFT_BEHIND = /^(?:node_modules|package-lock\.json|\.env|callbacks\.db.*)$/
// Servers that the tests of an example start.
const NEEDED_PROGRAM = { bullmq: 'redis-server' }
const { version } = readManifest(root)
const temporary = mkdtempSync(join(tmpdir(), 'countersign-examples-'))

try {
  const names = chosen()
  const tarball = pack(temporary)
  for (const name of names) check(name, tarball)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(temporary, { recursive: true, force: true })
}

function chosen() {
  const all = readdirSync(examples).filter(isProject)
  const named = process.argv.slice(2)
  const unknown = named.find((name) => !all.includes(name))
  if (unknown !== undefined) throw new Error(`no example ${unknown}: there are ${all.join(', ')}`)
  return named.length > 0 ? named : all
}

/** Other folders here hold parts of `demo.mjs`. */
function isProject(name) {
  return existsSync(join(examples, name, 'package.json'))
}

function check(name, tarball) {
  console.log(`\n-- ${name}`)
  const needed = NEEDED_PROGRAM[name]
  if (needed && !isInstalled(needed)) {
    console.log(`skipped; to install what it needs: apt-get install ${needed}`)
    return
  }
  const declared = readManifest(join(examples, name)).dependencies?.countersign
  if (declared !== `^${version}`)
    throw new Error(`${name}: depends on countersign ${declared}, not ^${version}`)
  const folder = join(temporary, name)
  cpSync(join(examples, name), folder, {
    recursive: true,
    filter: (path) => !LEFT_BEHIND.test(basename(path)),
  })
  timed('npm install', () => npmInstall(folder, [tarball, ...sqliteForOldNode]))
  const { output } = timed('npm test', () => run(folder, 'npm', 'test'))
  // A runner that finds no test may be content.
  const [, nodeTests, jestTests] = /^(?:[#ℹ] pass (\d+)|Tests: .*?(\d+) passed)/m.exec(output) ?? []
  const passed = Number(nodeTests ?? jestTests ?? 0)
  if (passed === 0) throw new Error(`${name}: no test has passed:\n${output}`)
  console.log(`${passed} tests passed`)
}

function isInstalled(program) {
  const folders = process.env.PATH.split(delimiter)
  return folders.some((folder) => existsSync(join(folder, program)))
}

function timed(what, work) {
  const startedAt = performance.now()
  const result = work()
  console.log(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  return result
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
