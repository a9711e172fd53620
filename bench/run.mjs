// What Countersign costs beside what it cannot avoid and beside what else there is, with the aims it is held to.
// Ratios of one run, from rounds that alternate: absolute figures differ from one machine and hour to the next.
import { parseArgs } from 'node:util'
import { benchConsole } from './console.bench.mjs'
import { benchDiagnosis } from './diagnosis.bench.mjs'
import { benchInbox } from './inbox.bench.mjs'
import { benchMemory } from './memory.bench.mjs'
import { benchPostgres } from './postgres.bench.mjs'
import { benchReceiver } from './receiver.bench.mjs'
import { benchRedis } from './redis.bench.mjs'
import { benchStart } from './start.bench.mjs'
import { benchTelemetry } from './telemetry.bench.mjs'
import { benchVerify } from './verify.bench.mjs'

const PARTS = {
  verify: benchVerify,
  receiver: benchReceiver,
  telemetry: benchTelemetry,
  memory: benchMemory,
  inbox: benchInbox,
  start: benchStart,
  postgres: benchPostgres,
  redis: benchRedis,
  diagnosis: benchDiagnosis,
  console: benchConsole,
}
/** They start servers or take minutes, so --quick leaves them out unless --only names them. */
const ONLY_WHEN_NAMED = ['telemetry', 'postgres', 'redis', 'diagnosis', 'console']

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
  },
})
const inShort = Object.keys(PARTS).filter((part) => !ONLY_WHEN_NAMED.includes(part))

const parts = options.only ?? (options.quick ? inShort : Object.keys(PARTS))
const unknown = parts.find((part) => !Object.hasOwn(PARTS, part))
if (unknown) throw new Error(`--only takes ${Object.keys(PARTS).join(', ')}, not ${unknown}`)

const rows = []
if (!options.json) console.log(`Node ${process.version}. In brackets, the middle half of the rounds.`)
for (const part of parts) {
  for await (const measured of groupsOf(PARTS[part](options))) {
    const group = measured.map((row) => ({ ...row, met: row.aim ? isMet(row) : undefined }))
    rows.push(...group)
    if (!options.json && group.length > 0) printTable(group)
  }
}
if (options.json) console.log(JSON.stringify({ node: process.version, rows }, null, 2))

/** The rows of a part: all at once, or in groups as they are measured if the part takes minutes. */
async function* groupsOf(measuring) {
  if (Symbol.asyncIterator in measuring) yield* measuring
  else yield await measuring
}

function isMet({ ratio, value = ratio.median, aim: { atMost = Infinity, atLeast = 0, below = Infinity } }) {
  return value <= atMost && value >= atLeast && value < below
}

function printTable(rows) {
  const cells = rows.map(({ what, measured, ratio, value, of, aim, met }) => [
    what,
    measured,
    of ?? '',
    ratio
      ? `${ratio.median.toFixed(2)} (${ratio.from.toFixed(2)}–${ratio.to.toFixed(2)})`
      : (value?.toFixed(1) ?? ''),
    aim ? aimText(aim) : '',
    met === undefined ? '' : met ? 'met' : 'MISSED',
  ])
  const table = [['what', 'measured', 'compared', 'ratio', 'aim', ''], ...cells]
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)))
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  )
  console.log(`\n${lines.join('\n')}`)
}

function aimText({ atMost, atLeast, below }) {
  if (atMost !== undefined) return `at most ${atMost}`
  return atLeast === undefined ? `below ${below}` : `at least ${atLeast}`
}
