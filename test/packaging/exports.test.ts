import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const EXPORTED = {
  countersign: [
    'CountersignError',
    'DoNotRetryError',
    'MemoryIdempotencyStore',
    'MemoryInbox',
    'OUTCOMES',
    'RetryLaterError',
    'captureRawBody',
    'createReceiver',
    'createWorker',
    'defineConfig',
    'verifySignature',
  ],
  'countersign/signature': [
    'SignatureInputError',
    'callbackUrlProblem',
    'signCallback',
    'stringToSign',
    'verifyCallback',
  ],
  'countersign/sqlite': ['SqliteInbox'],
  'countersign/postgres': ['PostgresInbox', 'grantStatements', 'migrationSql'],
  'countersign/redis': ['RedisIdempotencyStore'],
  'countersign/client': ['ClientError', 'createClient', 'generateSecret'],
  'countersign/diagnosis': ['CAUSES', 'explainCallback'],
  'countersign/testing': [
    'RawRequestError',
    'RecordedRequestError',
    'loadRecordedRequest',
    'loadRecordedRequests',
    'parseRecordedRequest',
    'recordedSubscriptions',
    'registerIdempotencyStoreTests',
    'replayRecordedRequest',
    'sendRawRequest',
    'signedCallback',
  ],
  'countersign/simulator': ['startServiceSimulator'],
  'countersign/fastify': ['fastifyReceiver'],
  'countersign/bullmq': ['forwardTo', 'forwardedEvent', 'handleForwarded'],
  'countersign/prometheus': ['prometheusMetrics'],
  'countersign/console': ['createConsole'],
  'countersign/opentelemetry': ['openTelemetry'],
}

// Names are public the day they are published: this list changes on purpose, or not at all.
describe.each([
  ['an ES module', 'module', 'await import(each)'],
  ['CommonJS', 'commonjs', 'require(each)'],
])('as %s', (_, inputType, load) => {
  const exported = namesOf(inputType, load)

  test.each(Object.entries(EXPORTED))('%s exports these names', (specifier, names) => {
    expect(exported[specifier]).toEqual(names)
  })
})

test('the entry points are these and no others', () => {
  const specifiers = Object.keys(manifest.exports).map((subpath) => subpath.replace('.', 'countersign'))
  expect(specifiers).toEqual([...Object.keys(EXPORTED), 'countersign/package.json'])
})

// TypeScript does not read `exports` under `moduleResolution: node`, which many CommonJS projects still have.
test('every entry point has its types where an older module resolution looks for them', () => {
  const subpaths = Object.entries<{ types?: string }>(manifest.exports).flatMap(([subpath, { types }]) =>
    types && subpath !== '.' ? [[subpath.slice(2), [types]]] : [],
  )
  expect(manifest.typesVersions).toEqual({ '*': Object.fromEntries(subpaths) })
})

test('every path that package.json names exists', () => {
  const { exports, bin, main, types, typesVersions, files } = manifest
  const named = [exports, bin, main, types, typesVersions, files].flatMap(leaves)
  // In `files`, an exclamation mark leaves a path out.
  expect(named.filter((path) => !existsSync(join(root, path.replace(/^!/, ''))))).toEqual([])
})

// Editors show the comments of the types, and a user has no other files than those of the package.
describe('to a user', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(root, 'src', file), 'utf8'))

  test('comments and help name only pages that are packed', () => {
    const pages = sources.flatMap((source) => source.match(/\b[\w./-]+\.md\b/g) ?? [])
    expect(pages).toContain('docs/simulator.md')
    expect(pages.filter((page) => !page.startsWith('docs/') || !existsSync(join(root, page)))).toEqual([])
    expect(manifest.files).toContain('docs')
  })

  test('comments name no source files, which are not packed', () => {
    const comments = sources.flatMap((source) => source.match(/\/\*\*[^]*?\*\//g) ?? [])
    expect(comments.flatMap((comment) => comment.match(/\b[\w./-]+\.ts\b/g) ?? [])).toEqual([])
  })
})

/**
 * From a Node of its own: Jest resolves modules its own way. Node adds names of its own where an ES module imports CommonJS.
 */
function namesOf(inputType: string, load: string): Record<string, string[]> {
  const program = `
    const names = {}
    const added = ['default', 'module.exports', '__esModule']
    for (const each of ${JSON.stringify(Object.keys(EXPORTED))})
      names[each] = Object.keys(${load}).filter((name) => !added.includes(name)).sort()
    console.log(JSON.stringify(names))`
  const args = [`--input-type=${inputType}`, '--eval', program]
  return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }))
}

function leaves(value: unknown): string[] {
  return typeof value === 'string' ? [value] : Object.values(value as object).flatMap(leaves)
}
