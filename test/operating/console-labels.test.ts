import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../..')

it('docs/operating.md names pages and buttons as the console does', () => {
  const [, section] = /^## With the console\n([^]*?)^## /m.exec(
    readFileSync(join(root, 'docs/operating.md'), 'utf8'),
  )!
  const labels = [...section!.matchAll(/\*\*(.*?)\*\*/g)].map(([, label]) => label!)
  const folder = join(root, 'src/console')
  const source = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
  expect(labels.length).toBeGreaterThan(10)
  // In a template, in a text, or at its beginning, as in 'Undo “retry”'.
  const isThere = (label: string) =>
    [`>${label}<`, `'${label}'`, `\`${label} `].some((text) => source.includes(text))
  expect(labels.filter((label) => !isThere(label))).toEqual([])
})
