// Keeps the documentation true: its programs compile, and run where marked; its commands, flags and files exist; its links lead
// somewhere; its tables say what the code says and fit into a terminal; the sections that comments cite exist. Works on the built
// package.
//
//   node .ci/docs-check.mjs            checks
//   node .ci/docs-check.mjs --write    writes what is generated: tables of docs/outcomes.md and docs/compatibility.md, docs/api,
//                                      and llms.txt
//
// An HTML comment on the line before a code block may say:
//   <!-- not run: reason -->    it is not checked
//   <!-- run NAME=value -->     it is also executed, with these variables in its environment, and must exit with 0
//   <!-- continues -->          it belongs to the program of the block before it
//   <!-- from examples/... -->  it is a part of this file, which .ci/examples.mjs runs
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { checkCitations } from './docs/citations.mjs'
import { checkCodes, checkOutcomes, writeOutcomes } from './docs/codes.mjs'
import { checkCommands } from './docs/commands.mjs'
import { parseDocument } from './docs/document.mjs'
import { checkCompatibility, writeCompatibility } from './docs/compatibility.mjs'
import { checkIndex, writeIndex } from './docs/index.mjs'
import { checkLinks } from './docs/links.mjs'
import { checkPaths } from './docs/paths.mjs'
import { checkPrograms } from './docs/programs.mjs'
import { root } from './docs/project.mjs'
import { checkReference, writeReference } from './docs/reference.mjs'
import { checkTables } from './docs/tables.mjs'

if (process.argv.includes('--write')) {
  await writeOutcomes()
  await writeCompatibility()
  await writeReference()
}

const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(
  (name) => `docs/${name}`,
)
const documents = [...readdirSync(root), ...pages].filter((path) => path.endsWith('.md')).map(parseDocument)

// After the other pages are written.
if (process.argv.includes('--write')) writeIndex(documents)

const blocks = documents.flatMap((document) => document.blocks)
// Its commands need servers, and take minutes.
const benchmarks = parseDocument('bench/README.md')

const problems = [
  ...documents.flatMap((document) => document.problems),
  ...checkPrograms(blocks),
  ...blocks.filter(({ language }) => language === 'sh').flatMap(checkCommands),
  ...blocks.filter(({ language }) => language === 'json').flatMap(checkJson),
  ...[...documents, benchmarks].flatMap(checkLinks),
  ...[...documents, benchmarks].flatMap(checkTables),
  ...[...documents, benchmarks].flatMap(checkPaths),
  ...checkCitations(),
  ...checkIndex(documents),
  ...(await checkOutcomes()),
  ...(await checkCompatibility()),
  ...checkCodes(),
  ...(await checkReference()),
]
for (const problem of problems) console.error(problem)
console.log(`${documents.length} documents, ${blocks.length} code blocks, ${problems.length} problems`)
process.exitCode = problems.length > 0 ? 1 : 0

function checkJson({ where, code }) {
  try {
    JSON.parse(code)
    return []
  } catch (error) {
    return [`${where}: ${error.message}`]
  }
}
