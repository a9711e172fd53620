// Introduces known defects, one at a time, and reports what the crash test says of each: the table in docs/crash-matrix.md.
//   node test/crash/mutations.mjs [--kills 36] [--only words]
// Each defect is made in a copy of the sources. Where the crash test passes, one of the tests that the list names must fail,
// which passes without the defect.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildSync } from 'esbuild'
import { MUTATIONS } from './mutation-list.mjs'

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '36' }, only: { type: 'string', default: '' } },
})
const root = fileURLToPath(new URL('../..', import.meta.url))
const VIOLATIONS = ['lost', 'stuck', 'twice at once', 'repeats without a kill']

console.log('| defect | the crash test | the test that fails |\n| --- | --- | --- |')
let isComplete = true
for (const mutation of MUTATIONS.filter(({ defect }) => defect.includes(values.only))) {
  const copy = mutated(mutation)
  try {
    const seen = crashTest(copy)
    const failing = seen ? '' : (mutation.tests ?? []).find((test) => !fails(root, test) && fails(copy, test))
    if (failing === undefined) isComplete = false
    console.log(`| ${mutation.defect} | ${seen ?? 'passed'} | ${failing ?? 'NONE'} |`)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
process.exitCode = isComplete ? 0 : 1

/** A copy of the project with the defect. */
function mutated({ defect, changes }) {
  const copy = mkdtempSync(join(tmpdir(), 'countersign-mutation-'))
  for (const part of ['src', 'test', 'fixtures', 'docs', 'package.json', 'jest.config.ts'])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const [file, before, after] of changes) {
    const path = join(copy, 'src', file)
    const text = readFileSync(path, 'utf8')
    if (text.split(before).length !== 2)
      throw new Error(`${defect}: ${file} does not have this once: ${before}`)
    writeFileSync(
      path,
      text.replace(before, () => after),
    )
  }
  const sources = readdirSync(join(copy, 'src'), { recursive: true }).filter((name) => name.endsWith('.ts'))
  buildSync({
    entryPoints: sources.map((name) => join(copy, 'src', name)),
    outbase: join(copy, 'src'),
    outdir: join(copy, 'dist/esm'),
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
  })
  return copy
}

/** The promises that did not hold, or undefined. */
function crashTest(copy) {
  const args = [join(copy, 'test/crash/run.mjs'), '--kills', values.kills, '--at-once', '3']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 400_000 })
  if (status === 0) return undefined
  const totals = stdout.split('\n').filter((line) => line.startsWith('| in all'))
  const counts = totals.at(-1)?.split('|').slice(2, -1).map(Number)
  if (!counts) return `ended with an error: ${/Error: .*/.exec(stderr)?.[0] ?? 'time-out'}`
  return VIOLATIONS.filter((_, index) => counts[index] > 0).join(', ')
}

function fails(copy, test) {
  const jest = join(root, 'node_modules/jest/bin/jest.js')
  const options = { cwd: copy, stdio: 'ignore', timeout: 200_000 }
  return spawnSync(process.execPath, [jest, '--maxWorkers=1', '--bail', test], options).status !== 0
}
