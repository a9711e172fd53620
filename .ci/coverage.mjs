// How many lines of each folder of src run in the tests of the signature, the inbox and the worker, measured by V8. The least that is
// accepted is in coverage.json, and only rises.
//
//   node .ci/coverage.mjs FOLDER            FOLDER: where Jest has written coverage-summary.json
//   node .ci/coverage.mjs FOLDER --write    raises the floors to one percent below: each run tries other random cases
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const [folder, ...flags] = process.argv.slice(2)
const floorsFile = process.env.COVERAGE_FLOORS ?? join(root, '.ci/coverage.json')
const floors = JSON.parse(readFileSync(floorsFile, 'utf8'))
const reached = percentages(JSON.parse(readFileSync(join(folder, 'coverage-summary.json'), 'utf8')))

const lines = [...reached].map(([name, percent]) => `${name} ${percent}`)
console.log(`lines that the tests of signature, inbox and worker run, in percent: ${lines.join(', ')}`)
if (flags.includes('--write')) {
  const raised = [...reached].map(([name, percent]) => [name, Math.max(percent - 1, floors[name] ?? 0)])
  writeFileSync(floorsFile, `${JSON.stringify(Object.fromEntries(raised), undefined, 2)}\n`)
} else {
  for (const [name, percent] of reached) {
    const floor = floors[name] ?? 0
    if (percent >= floor) continue
    console.error(`coverage of src/${name} is ${percent} percent, less than ${floor}: test what was added.`)
    process.exitCode = 1
  }
}

/** Whole percents, rounded down. */
function percentages({ total: _, ...files }) {
  const sums = new Map()
  for (const [file, { lines: counted }] of Object.entries(files)) {
    const parts = relative(join(root, 'src'), file).split(sep)
    // Entry points only re-export.
    if (parts.length < 2 || parts[0] === '..') continue
    const sum = sums.get(parts[0]) ?? { covered: 0, total: 0 }
    sums.set(parts[0], { covered: sum.covered + counted.covered, total: sum.total + counted.total })
  }
  const sorted = [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return new Map(sorted.map(([name, { covered, total }]) => [name, Math.floor((100 * covered) / total)]))
}
