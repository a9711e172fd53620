import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const root = join(__dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const { exports: entries } = JSON.parse(read('package.json')) as {
  exports: Record<string, { default?: string }>
}

/** The names that each entry point exports, those of types included. */
const exported = Object.entries(entries).flatMap(([subpath, entry]) =>
  entry.default === undefined
    ? []
    : [[`countersign${subpath.slice(1)}`, namesOf(sourceOf(entry.default))] as const],
)

// docs/api.md is the snapshot: a name is public the day it is published.
test.each(exported)('docs/api.md lists what %s exports', (specifier, names) => {
  expect(listed().get(specifier)).toEqual(names)
})

test('docs/api.md has no other entry points', () => {
  expect([...listed().keys()]).toEqual(exported.map(([specifier]) => specifier))
})

test('there are at most 200 names, and 90 in the root', () => {
  const counts = exported.map(([, names]) => names.length)
  expect(counts[0]).toBeLessThanOrEqual(90)
  expect(counts.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(200)
})

/** The names that each item of a list begins with, by the heading above it. */
function listed(): Map<string, string[]> {
  const sections = read('docs/api.md').split(/^## /m).slice(1)
  return new Map(
    sections.map((section) => {
      const names = section
        .split('\n- ')
        .slice(1)
        .flatMap((item) => [...item.split(':', 1)[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
      return [/^`([^`]+)`/.exec(section)?.[1] ?? section, names.sort()]
    }),
  )
}

function sourceOf(built: string): string {
  return posix.join('src', posix.relative('dist', posix.normalize(built))).replace(/\.js$/, '.ts')
}

/** Entry points only re-export: see layers.test.ts. */
function namesOf(file: string): string[] {
  const source = read(file)
  const names = [...source.matchAll(/^export (?:type )?(\*|\{[^}]*\}) from '([^']+)'/gm)].flatMap(
    ([, list, from]) =>
      list === '*'
        ? namesOf(posix.join(posix.dirname(file), from!).replace(/\.js$/, '.ts'))
        : list!
            .slice(1, -1)
            .split(',')
            .flatMap((name) => /(\w+)\s*$/.exec(name)?.[1] ?? []),
  )
  const declared = /^export (?:abstract )?(?:interface|type|class|const|function|async function) (\w+)/gm
  const all = [...names, ...[...source.matchAll(declared)].map(([, name]) => name!)]
  return all.sort()
}
