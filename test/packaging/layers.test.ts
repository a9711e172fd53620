import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'

const root = join(__dirname, '../..')
const { dependencies, peerDependencies, ...manifest } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)

const exportsOfPackage: Record<string, { default?: string }> = manifest.exports

/** From top to bottom. A file imports from its own floor and from those below, types included. */
const FLOORS = [
  'cli/',
  'entry points',
  'server/',
  'console/',
  'receiver/',
  'capture/',
  'diagnosis/',
  'telemetry/',
  'worker/',
  'bullmq/',
  'http/',
  'probe/',
  'handlers/',
  'simulator/',
  'testing/',
  'inbox/',
  'idempotency/',
  'events/',
  'client/',
  'callback/',
  'signature/',
  'logging/',
  'base/',
]

const sources = new Map(
  readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file, readFileSync(join(root, 'src', file), 'utf8')]),
)
const imports = [...sources].flatMap(([file, source]) =>
  modulesNamedIn(source).map((name) => ({
    from: file,
    to: name.startsWith('.') ? posix.join(posix.dirname(file), name).replace(/\.js$/, '.ts') : name,
  })),
)
const withinSrc = imports.filter(({ to }) => sources.has(to))
const beyondSrc = imports.filter(({ to }) => !sources.has(to) && posix.basename(to) !== 'package.json')

test('every folder of src is a floor, and every floor is a folder', () => {
  const floors = new Set([...sources.keys()].map(floorOf))
  expect([...floors].sort()).toEqual([...FLOORS].sort())
})

test('docs/architecture.md has the floors in this order', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const section = /^## The floors\n([^]*?)^## /m.exec(page)?.[1] ?? ''
  const rows = [...section.matchAll(/^\| `?([\w ]+\/?)`? +\| /gm)].map(([, floor]) => floor!.trim())
  expect(rows.filter((floor) => floor !== 'floor')).toEqual(FLOORS)
})

test('at the root of src there are entry points only', () => {
  const atRoot = [...sources.keys()].filter((file) => floorOf(file) === 'entry points')
  expect(atRoot.filter((file) => !isEntryPoint(file))).toEqual([])
})

test.each(FLOORS)('imports from %s point down', (floor) => {
  const upwards = withinSrc.filter(
    ({ from, to }) => floorOf(from) === floor && FLOORS.indexOf(floorOf(to)) < FLOORS.indexOf(floor),
  )
  expect(upwards.map(arrow)).toEqual([])
})

test('no files import each other in a circle, types included', () => {
  const targets = new Map<string, string[]>()
  for (const { from, to } of withinSrc) targets.set(from, [...(targets.get(from) ?? []), to])
  // What is removed imports no file that is left; what then remains is on a circle, or imports one that is.
  const left = new Set(sources.keys())
  const isDone = (file: string) => !(targets.get(file) ?? []).some((target) => left.has(target))
  for (let done; (done = [...left].filter(isDone)).length > 0;) done.forEach((file) => left.delete(file))
  expect([...left]).toEqual([])
})

test('handlers and idempotency do not know each other', () => {
  expect(arrowsBetween('handlers/', 'idempotency/')).toEqual([])
  expect(arrowsBetween('idempotency/', 'handlers/')).toEqual([])
})

test('signature imports node:crypto, its own files and the class of errors, nothing else', () => {
  const foreign = imports.filter(
    ({ from, to }) => from.startsWith('signature/') && !to.startsWith('signature/') && to !== 'node:crypto',
  )
  expect(foreign.map(arrow)).toEqual(['signature/signature-error.ts -> base/errors.ts'])
})

test('the receiver does not know the client, nor the client the receiver', () => {
  const importers = withinSrc.filter(({ to }) => to.startsWith('client/')).map(({ from }) => from)
  expect(importers.filter((file) => !/^(client|cli)\//.test(file))).toEqual([])
})

test('only the command line imports what is there for tests', () => {
  const importers = withinSrc.filter(({ to }) => to.startsWith('testing/')).map(({ from }) => from)
  expect(importers.filter((file) => !/^(testing|simulator|cli)[./]/.test(file))).toEqual([])
})

test('nothing imports Express, which only those who use it need to install', () => {
  const importers = beyondSrc.filter(({ to }) => to === 'express').map(({ from }) => from)
  expect(importers).toEqual([])
})

test('every other module is one of Node or a dependency of the package', () => {
  const declared = new Set(Object.keys({ ...dependencies, ...peerDependencies }))
  const undeclared = beyondSrc.filter(({ to }) => !isBuiltin(to) && !declared.has(to))
  expect(undeclared.map(arrow)).toEqual([])
})

test('no dependency is there for nothing', () => {
  const used = new Set(beyondSrc.map(({ to }) => to))
  expect(Object.keys(dependencies).filter((name) => !used.has(name))).toEqual([])
})

test.each([
  'index.ts',
  'sqlite.ts',
  'fastify.ts',
  'bullmq.ts',
  'redis.ts',
  'postgres.ts',
  'signature/index.ts',
  'client/index.ts',
  'diagnosis/index.ts',
  'testing.ts',
  'simulator.ts',
  'prometheus.ts',
  'console.ts',
  'opentelemetry.ts',
])('%s only re-exports', (file) => {
  const reExport = /^\s*export (type )?(\*|\{[^}]*\}) from '[^']+'\s*/
  let rest = sources.get(file)!.replace(/^\s*(\/\/.*|\/\*[^]*?\*\/)/gm, '')
  while (reExport.test(rest)) rest = rest.replace(reExport, '')
  expect(rest).toBe('')
})

function floorOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/') + 1) : 'entry points'
}

/** Whether package.json makes it one of the entry points of the package. */
function isEntryPoint(file: string): boolean {
  const built = `./dist/${file.replace(/\.ts$/, '.js')}`
  return Object.values(exportsOfPackage).some((entry) => entry.default === built)
}

/** What follows `from`, `import`, `import(` and `require(`, outside comments. */
function modulesNamedIn(source: string): string[] {
  const code = source.replace(/^\s*(?:\/\/.*|\/\*[^]*?\*\/)/gm, '')
  return [...code.matchAll(/^(?:import|export|\}).*?\bfrom '(.*?)'|\b(?:import|require) ?\(?'(.*?)'/gm)].map(
    ([, from, other]) => (from ?? other)!,
  )
}

function arrowsBetween(from: string, to: string): string[] {
  return withinSrc.filter((edge) => edge.from.startsWith(from) && edge.to.startsWith(to)).map(arrow)
}

function arrow({ from, to }: { from: string; to: string }): string {
  return `${from} -> ${to}`
}
