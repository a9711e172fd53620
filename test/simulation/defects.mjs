import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { mutatedTexts, ROOT } from '../support/mutated-copy.mjs'
import { DEFECTS } from './defect-list.mjs'

/** Throws unless the sources have what each defect changes. */
export function checkDefects() {
  for (const defect of DEFECTS) mutatedTexts(defect)
}

/** Tries schedules with each defect, and prints within how many the first fault was found: the table in docs/evidence.md. */
export function tryDefects({ seed, runs, only = '' }) {
  console.log('| kind | defect | found within | as |\n| --- | --- | --- | --- |')
  for (const defect of DEFECTS.filter(({ kind, defect }) => `${kind} ${defect}`.includes(only))) {
    const copy = copyWith(defect)
    try {
      const found = schedulesWithin(copy, defect, { seed, runs })
      console.log(`| ${defect.kind} | ${defect.defect} | ${found.within} | ${found.as} |`)
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }
}

/** A copy of what was built and of the simulation, in which only the files with the defect are built anew. */
function copyWith(defect) {
  const copy = mkdtempSync(join(tmpdir(), 'countersign-defect-'))
  for (const part of ['dist', 'test/simulation', 'test/support', 'package.json'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  for (const [file, text] of mutatedTexts(defect)) {
    const { code } = transformSync(text, { loader: 'ts', format: 'cjs', platform: 'node', target: 'es2022' })
    writeFileSync(join(copy, 'dist', file.replace(/ts$/, 'js')), code)
  }
  return copy
}

/** A schedule with PostgreSQL takes this many times as long. */
const TIMES_AS_LONG = 10

function schedulesWithin(copy, { inbox }, { seed, runs: given }) {
  const runs = inbox === 'postgres' ? Math.ceil(given / TIMES_AS_LONG) : given
  const program = join(copy, 'test/simulation/run.mjs')
  const args = [
    '--seed',
    String(seed),
    '--runs',
    String(runs),
    '--brief',
    ...(inbox ? ['--inbox', inbox] : []),
  ]
  const options = { encoding: 'utf8', timeout: 600_000 }
  const { stdout, stderr, signal } = spawnSync(process.execPath, [program, ...args], options)
  const [, at, fault] = /^seed (\d+): (.*)/m.exec(stdout) ?? []
  if (at !== undefined)
    return { within: Number(at) - seed + 1, as: fault.replaceAll(/\d+/g, 'N').split(';')[0] }
  if (!signal && !stdout.includes(' schedules, '))
    throw new Error(`the schedules could not be tried: ${stderr}`)
  return { within: 'not found', as: signal ? 'it goes on for ever' : `${runs} schedules` }
}
