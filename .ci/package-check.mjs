// What users get is not this folder but what npm packs of it: the tarball is looked through, installed into projects of
// the kinds that users have, and used there.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { npmInstall, pack, root, run, sqliteForOldNode } from './packed-package.mjs'

const { version, devDependencies, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// What many projects still have.
const OLDER_TYPESCRIPT = 'typescript@~5.9.0'
const FLAGS = [
  '--noEmit',
  // Each type that a value of a user has must have a name that a user can import.
  '--declaration',
  '--strict',
  '--exactOptionalPropertyTypes',
  '--skipLibCheck',
  'false',
  '--types',
  'node',
  '--target',
  'es2022',
]
/** What docs/compatibility.md says. */
const MAX_INSTALLED_KB = 12_000
const temporary = mkdtempSync(join(tmpdir(), 'countersign-package-'))

try {
  const tarball = pack(temporary)
  checkContents(tarball)
  step('publint', () => run(root, 'npx', 'publint', 'run', tarball, '--strict'))
  step('attw', () => run(root, 'npx', 'attw', tarball, '--profile', 'strict', '--no-color', '--no-emoji'))

  step('npm 12 installs it without a warning', () => checkInstallation(tarball))
  const esm = consumer('esm', { type: 'module' }, [tarball, 'express@5'])
  step('an ES module on Express 5', () => run(esm, 'node', 'consumer.mjs'))
  step('the command', () => checkCommand(esm))
  step('what a user installs', () => run(esm, 'npm', 'ls', '--omit=dev', '--depth=1'))

  const cjs = consumer('cjs', {}, [tarball, 'express@4', ...sqliteForOldNode])
  step('CommonJS on Express 4', () => run(cjs, 'node', 'consumer.cjs'))
  step('every entry point without the optional peers', () => loadEntryPoints(cjs))
  step('an inbox without the optional peers', () => run(cjs, 'node', 'without-peers.cjs'))
  npmInstall(cjs, ['@opentelemetry/api@1'])
  step('OpenTelemetry with its API', () => loadOpenTelemetry(cjs))

  const typed = consumer('typescript', {}, [
    tarball,
    `@types/node@${devDependencies['@types/node']}`,
    OLDER_TYPESCRIPT,
  ])
  step('TypeScript without the types of Express', () => compile(typed, 'node-http'))
  step('TypeScript with the types of the DOM', () => compile(typed, 'dom', '--lib', 'es2022,dom'))
  step('TypeScript that resolves as Node 10 did', () => compileAsBefore(typed, 'older-resolution'))
  npmInstall(typed, ['@opentelemetry/api@1'])
  writeFileSync(join(typed, 'entry-points.ts'), everyEntryPoint())
  const es2020 = ['--target', 'es2020', '--lib', 'es2020']
  step('TypeScript with the library of ES2020', () => compile(typed, 'entry-points', ...es2020))
  npmInstall(typed, ['express@5', '@types/express@5'])
  step('TypeScript with the types of Express 5', () => compile(typed, 'express'))
  step('TypeScript with an event of the application', () => compile(typed, 'own-event'))
  npmInstall(typed, ['express@4', '@types/express@4'])
  step('TypeScript with the types of Express 4', () => compile(typed, 'express'))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(temporary, { recursive: true, force: true })
}

function checkContents(tarball) {
  const files = run(temporary, 'tar', '-tzf', tarball)
    .stdout.trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''))
  // The README, --help and the comments of types refer to the pages of docs.
  const docs = readdirSync(join(root, 'docs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(relative(root, parentPath), name))
  const expected = ['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json', 'dist/package.json', ...docs]
  expected.push(...exampleFiles())
  const missing = expected.filter((file) => !files.includes(file))
  // Every other file is the code or the types of a source file: no test of the package, no source map, nothing left from another
  // build.
  const surprises = files.filter((file) => !expected.includes(file) && !isBuilt(file))
  console.log(`${files.length} files in the tarball`)
  if (missing.length > 0) throw new Error(`missing in the tarball: ${missing.join(', ')}`)
  if (surprises.length > 0) throw new Error(`should not be in the tarball: ${surprises.join(', ')}`)
}

/** Without what working with an example leaves there, and without the parts of `npm run demo`. npm packs no .gitignore. */
function exampleFiles() {
  const tracked = run(root, 'git', 'ls-files', 'examples').stdout.trim().split('\n')
  return tracked.filter((path) => !/^examples\/demo\b|\/\.gitignore$/.test(path))
}

/** The first thing that a user sees. npm 12 names each package whose install script it did not run. */
function checkInstallation(tarball) {
  if (Number.parseInt(process.versions.node, 10) < 24) return { stdout: 'skipped: npm 12 needs Node 24' }
  const [tool, app] = ['npm-12', 'app'].map((name) => emptyProject(join(temporary, name)))
  npmInstall(tool, ['npm@12'])
  const npm = join(tool, 'node_modules/npm/bin/npm-cli.js')
  const { output } = run(app, process.execPath, npm, 'install', tarball)
  // The settings of this machine, not the package, give warnings of `npm warn Unknown ... config`.
  const lines = output.split('\n').filter((line) => line && !/^npm warn Unknown .* config/.test(line))
  const unwanted = lines.filter((line) => !/^(?:added \d+ packages|found 0 vulnerabilities)/.test(line))
  const kilobytes = Number(run(app, 'du', '-sk', 'node_modules').stdout.split('\t')[0])
  if (unwanted.length > 0) throw new Error(`npm 12 says of the installation: ${unwanted.join('\n')}`)
  if (kilobytes > MAX_INSTALLED_KB)
    throw new Error(`${kilobytes} KB are installed, more than ${MAX_INSTALLED_KB}`)
  return { stdout: `${lines[0]}; ${kilobytes} KB on the disk` }
}

function emptyProject(folder) {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  return folder
}

function isBuilt(file) {
  const source = /^dist\/(.*?)\.(?:d\.ts|js)$/.exec(file)?.[1]
  return source !== undefined && existsSync(join(root, 'src', `${source}.ts`))
}

/** A project of its own, outside the repository, so that nothing is found that was not installed. */
function consumer(name, manifest, packages) {
  const folder = join(temporary, name)
  cpSync(join(root, '.ci/consumers', name), folder, { recursive: true })
  cpSync(join(root, 'fixtures/vectors/signature.json'), join(folder, 'signature.json'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, ...manifest }))
  npmInstall(folder, packages)
  return folder
}

function checkCommand(folder) {
  const [printed] = run(folder, 'npx', '--no-install', 'countersign', '--version').stdout.split('\n')
  if (printed !== `countersign ${version}`)
    throw new Error(`countersign --version printed ${printed}, not ${version}`)
  return run(folder, 'npx', '--no-install', 'countersign', '--help')
}

function entryPointNames() {
  return Object.keys(exports)
    .filter((entry) => entry !== './package.json')
    .map((entry) => JSON.stringify(`countersign${entry.slice(1)}`))
}

function everyEntryPoint() {
  const imports = entryPointNames().map((name, index) => `export * as entry${index} from ${name}`)
  return `${imports.join('\n')}\n`
}

function loadEntryPoints(folder) {
  // countersign/opentelemetry is for those who have its API.
  const entryPoints = entryPointNames().filter((name) => !name.includes('opentelemetry'))
  run(folder, 'node', '-e', entryPoints.map((name) => `require(${name})`).join('\n'))
  run(folder, 'node', '--input-type=module', '-e', entryPoints.map((name) => `import ${name}`).join('\n'))
}

function loadOpenTelemetry(folder) {
  const names = ['countersign', 'countersign/opentelemetry']
  const program = 'openTelemetry().observe(createReceiver({ subscriptions: () => [], logger: false }))'
  const required = names.map((name) => `...require('${name}')`).join(', ')
  run(folder, 'node', '-e', `const { createReceiver, openTelemetry } = { ${required} }; ${program}`)
  const imported = `import { createReceiver } from '${names[0]}'; import { openTelemetry } from '${names[1]}'`
  run(folder, 'node', '--input-type=module', '-e', `${imported}; ${program}`)
}

/** As an ES module and as CommonJS, by this repository's compiler and by the older one. */
function compile(folder, program, ...more) {
  for (const extension of ['mts', 'cts'])
    cpSync(join(folder, `${program}.ts`), join(folder, `${program}.${extension}`))
  const files = [`${program}.mts`, `${program}.cts`]
  for (const project of [root, folder]) {
    const tsc = join(project, 'node_modules/typescript/bin/tsc')
    run(folder, 'node', tsc, ...FLAGS, ...more, '--module', 'nodenext', ...files)
  }
}

/** With `moduleResolution: node`, which the older compiler has and this repository's has not. */
function compileAsBefore(folder, program) {
  const tsc = join(folder, 'node_modules/typescript/bin/tsc')
  for (const module of ['commonjs', 'esnext'])
    run(folder, 'node', tsc, ...FLAGS, '--module', module, '--moduleResolution', 'node10', `${program}.ts`)
}

function step(name, check) {
  console.log(`\n-- ${name}`)
  const printed = check()?.stdout.trim()
  if (printed) console.log(printed)
}
