import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'

const root = join(__dirname, '../..')
const { dependencies, peerDependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)

/** From top to bottom. A file imports from its own layer and from those below, types included. */
const LAYERS = [
  ['cli/'],
  ['index.ts', 'sqlite.ts'],
  ['http/server.ts', 'http/health-app.ts'],
  ['receiver.ts', 'receiver-options.ts'],
  ['http/'],
  [
    'pipeline.ts',
    'handling/',
    'authenticator.ts',
    'authenticate.ts',
    'admission.ts',
    'subscriptions.ts',
    'prepared-subscription.ts',
    'handler-gaps.ts',
  ],
  ['testing/', 'client/'],
  ['dispatch/', 'idempotency/', 'inbox/'],
  [
    'callback.ts',
    'outcomes.ts',
    'errors.ts',
    'foreign-value.ts',
    'known-secrets.ts',
    'logged-error.ts',
    'logger.ts',
    'log-throttle.ts',
    'console-logger.ts',
    'stderr-logger.ts',
    'readable-fields.ts',
    'option-checks.ts',
    'file-owner.ts',
    'similar-name.ts',
    'in-time.ts',
    'payload.ts',
    'uuid.ts',
    'loopback.ts',
    'event-type-name.ts',
    'mask-texts.ts',
  ],
  ['signature/'],
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

test('every source file has its layer', () => {
  expect([...sources.keys()].filter((file) => layerOf(file) === undefined)).toEqual([])
})

test('imports point one way, down the layers', () => {
  const upwards = withinSrc.filter(({ from, to }) => layerOf(to)! < layerOf(from)!)
  expect(upwards.map(arrow)).toEqual([])
})

test('dispatch and idempotency do not know each other', () => {
  expect(arrowsBetween('dispatch/', 'idempotency/')).toEqual([])
  expect(arrowsBetween('idempotency/', 'dispatch/')).toEqual([])
})

test('signature imports node:crypto and its own files, nothing else', () => {
  const foreign = imports.filter(
    ({ from, to }) => from.startsWith('signature/') && !to.startsWith('signature/') && to !== 'node:crypto',
  )
  expect(foreign.map(arrow)).toEqual([])
})

test('the receiver does not know the client, nor the client the receiver', () => {
  const importers = withinSrc.filter(({ to }) => to.startsWith('client/')).map(({ from }) => from)
  expect(importers.filter((file) => !/^(client|cli)\//.test(file))).toEqual([])
})

test('only the command line imports what is there for tests', () => {
  const importers = withinSrc.filter(({ to }) => to.startsWith('testing/')).map(({ from }) => from)
  expect(importers.filter((file) => !/^(testing|cli)\//.test(file))).toEqual([])
})

test('only what starts a server of its own imports Express', () => {
  const importers = beyondSrc.filter(({ to }) => to === 'express').map(({ from }) => from)
  expect(importers).toEqual(['http/health-app.ts'])
})

test('every other module is one of Node or a dependency of the package', () => {
  const declared = new Set(Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies }))
  const undeclared = beyondSrc.filter(({ to }) => !isBuiltin(to) && !declared.has(to))
  expect(undeclared.map(arrow)).toEqual([])
})

test('no dependency is there for nothing', () => {
  const used = new Set(beyondSrc.map(({ to }) => to))
  expect(Object.keys(dependencies).filter((name) => !used.has(name))).toEqual([])
})

test.each(['index.ts', 'sqlite.ts', 'signature/index.ts', 'client/index.ts', 'testing/index.ts'])(
  '%s only re-exports',
  (file) => {
    const reExport = /^\s*export (type )?(\*|\{[^}]*\}) from '[^']+'\s*/
    let rest = sources.get(file)!.replace(/^\s*(\/\/.*|\/\*[^]*?\*\/)/gm, '')
    while (reExport.test(rest)) rest = rest.replace(reExport, '')
    expect(rest).toBe('')
  },
)

function layerOf(file: string): number | undefined {
  // A file named on its own belongs there, and not to its folder's layer.
  const exactly = LAYERS.findIndex((layer) => layer.includes(file))
  if (exactly >= 0) return exactly
  const byFolder = LAYERS.findIndex((layer) =>
    layer.some((entry) => entry.endsWith('/') && file.startsWith(entry)),
  )
  return byFolder >= 0 ? byFolder : undefined
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
