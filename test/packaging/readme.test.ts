import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

// It is read in a browser beside other packages. What is longer belongs to a page of its own.
test('README.md has at most 300 lines and 1,800 words', () => {
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(300)
  expect(readme.trim().split(/\s+/).length).toBeLessThanOrEqual(1_800)
})

test('each page is in the list of pages of README.md', () => {
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  expect(pages.filter((page) => !readme.includes(`](docs/${page})`))).toEqual([])
})

test('the options of README.md are rows of docs/options.md', () => {
  const rows = (text: string): string[][] =>
    text
      .split('\n')
      .filter((line) => /^\| `\w+` /.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, 4)
          .map((cell) => cell.trim()),
      )
  const page = new Map(
    rows(readFileSync(join(root, 'docs/options.md'), 'utf8')).map(([option, ...rest]) => [option, rest]),
  )
  const [, section] = readme.split('\n## Options\n')
  const options = rows(section!.split('\n## ')[0]!)
  expect(options.length).toBeGreaterThan(5)
  expect(Object.fromEntries(options.map(([option, ...rest]) => [option, rest]))).toEqual(
    Object.fromEntries(options.map(([option]) => [option, page.get(option)])),
  )
})
