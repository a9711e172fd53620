import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { median } from './statistics.mjs'

const PROGRAM = fileURLToPath(new URL('../dist/cli/bin.js', import.meta.url))
const HERE = fileURLToPath(new URL('..', import.meta.url))
const AS_MODULE = ['--input-type=module', '--eval']

const PROGRAMS = {
  empty: [...AS_MODULE, ''],
  imported: [...AS_MODULE, "import 'countersign'"],
  help: [PROGRAM, '--help'],
}

/** How long it takes until the package has been imported, and until the command line has printed its help. */
export function benchStart({ quick }) {
  const seconds = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, []]))
  for (let round = 0; round < (quick ? 5 : 25); round++)
    for (const name of Object.keys(PROGRAMS)) seconds[name].push(run(PROGRAMS[name]))
  const milliseconds = (name) => median(seconds[name]) * 1000
  const overEmpty = seconds.imported.map((each, round) => (each - 1.5 * seconds.empty[round]) * 1000)
  return [
    row("import 'countersign'", milliseconds('imported'), {
      value: median(overEmpty),
      of: 'ms more than 1.5 × an empty module',
      aim: { atMost: 40 },
    }),
    row('countersign --help', milliseconds('help'), {
      value: milliseconds('help'),
      of: 'ms',
      aim: { atMost: 250 },
    }),
    row('an empty module', milliseconds('empty')),
  ]
}

function row(what, measured, compared) {
  return { part: 'start', what, measured: `${measured.toFixed(0)} ms`, ...compared }
}

function run(args) {
  const startedAt = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: HERE, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with exit code ${status}: ${stderr}`)
  return (performance.now() - startedAt) / 1000
}
