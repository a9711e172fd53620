import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const folder = join(__dirname, '../../src/signature')

/** Every file that the entry reaches, types included, and every other module that one of them names. */
function walk(entry: string): { files: Set<string>; others: Set<string> } {
  const files = new Set([entry])
  const others = new Set<string>()
  for (const file of files) {
    for (const name of imports(readFileSync(file, 'utf8'))) {
      const source = join(dirname(file), name.replace(/\.js$/, '.ts'))
      if (name.startsWith('.') && existsSync(source)) files.add(source)
      else others.add(name)
    }
  }
  return { files, others }
}

/** The names after `from`, `import`, `import(` and `require(`; of a computed name, as it is spelled. */
function imports(source: string): string[] {
  const code = source.replace(/^\s*(?:\/\/.*|\/\*[^]*?\*\/)/gm, '')
  return [...code.matchAll(/\b(?:from|import|require)\s*\(?\s*(['"`])(.*?)\1/g)].map(
    (match) => match[2] as string,
  )
}

test('src/signature imports node:crypto, its own files and the class of errors, nothing else', () => {
  const { files, others } = walk(join(folder, 'index.ts'))
  expect([...others]).toEqual(['node:crypto'])
  expect([...files].filter((file) => relative(folder, file).startsWith('..'))).toEqual([
    join(folder, '../base/errors.ts'),
  ])
  expect(files.size).toBeGreaterThan(1)
})

test.each([
  [`import { a } from 'x'`],
  [`import type { A } from "x"`],
  [`import 'x'`],
  [`export * from 'x'`],
  [`import {\n  a,\n} from 'x'`],
  [`const a = await import('x')`],
  [`const a = require("x")`],
  ['const a = import(`x`)'],
])('the walk sees %j', (source) => {
  expect(imports(source)).toEqual(['x'])
})

test('the walk does not take a comment for an import', () => {
  expect(imports("// from 'x'\n/** from `y`,\n * from `z`. */\nimport 'a'")).toEqual(['a'])
})
