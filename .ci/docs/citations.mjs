import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { read, root } from './project.mjs'

const FOLDERS = ['.ci', 'bench', 'fixtures', 'src', 'test']
const SECTION = String.raw`\d+(?:\.\d+)?`
const CITATION = new RegExp(
  String.raw`SERVICE (${SECTION}(?:(?:,| and| to) ${SECTION})*)(?:, (?:rule|item|point|step) (\d+))?`,
  'g',
)

/** Every section of docs/service.md that a comment cites exists, as does the line of its numbered list. */
export function checkCitations() {
  const sections = sectionsOf(read('docs/service.md'))
  const cited = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:[cm]?[jt]s|sh)$/.test(name))
      .flatMap((name) => citationsIn(join(folder, name))),
  )
  // The pattern itself could be what no longer fits.
  if (cited.length < 30) return [`only ${cited.length} citations of docs/service.md were found`]
  return cited.flatMap(({ path, text, numbers, line }) => {
    const missing = numbers.filter((number) => !sections.has(number))
    if (missing.length > 0) return [`${path}: ${text}: docs/service.md has no section ${missing.join(', ')}`]
    const isListed = line === undefined || sections.get(numbers.at(-1)).includes(`\n${line}. `)
    return isListed ? [] : [`${path}: ${text}: that section of docs/service.md has no such line`]
  })
}

function citationsIn(path) {
  const text = read(path).replace(/\n\s*(?:\*|\/\/|#)?\s*/g, ' ')
  return [...text.matchAll(CITATION)].map(([found, numbers, line]) => ({
    path,
    text: found,
    numbers: numbers.match(new RegExp(SECTION, 'g')),
    line,
  }))
}

/** The text of each section by its number. */
function sectionsOf(page) {
  const parts = page.split(/^#{2,3} (?=\d)/m).slice(1)
  return new Map(parts.map((part) => [/^\d+(?:\.\d+)?/.exec(part)[0], part]))
}
