// The result as Markdown: several tables, as one would be wider than a terminal. Tables of zeros are one sentence.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const LOAD = {
  step: 'killed',
  kills: 'kills',
  sent: 'sent',
  acknowledged: 'acknowledged',
  handled: 'handled',
  repeated: 'repeated runs',
}
const VIOLATIONS = {
  step: 'killed',
  lost: 'lost',
  stuck: 'stuck',
  twiceAtOnce: 'twice at once',
  unexplained: 'repeats without a kill',
}

const LEDGER = {
  step: 'killed',
  handled: 'handled',
  rows: 'rows in the ledger',
  missingRows: 'missing rows',
  extraRows: 'extra rows',
}

export function resultTables(rows, isTransactional) {
  const checks = [VIOLATIONS, ...(isTransactional ? [LEDGER] : [])]
  const counted = checks
    .flatMap((titles) => Object.entries(titles))
    .filter(([name]) => !(name in LOAD || name === 'rows'))
  const isClean = rows.every((row) => counted.every(([name]) => row[name] === 0))
  const clean = `None in any row: ${counted.map(([, title]) => title).join(', ')}.`
  return [table(LOAD, rows), ...(isClean ? [clean] : checks.map((titles) => table(titles, rows)))].join(
    '\n\n',
  )
}

/** Replaces the result of this name in docs/evidence.md. */
export function writeResult(tables, name) {
  const file = fileURLToPath(new URL('../../docs/evidence.md', import.meta.url))
  const text = readFileSync(file, 'utf8')
  const date = new Date().toISOString().slice(0, 10)
  const [begin, end] = [`<!-- result: ${name} -->`, `<!-- end of result: ${name} -->`]
  const [before, rest] = text.split(begin)
  const after = rest.split(end)[1]
  const said = `Node ${process.versions.node}, ${date}:\n\n${tables}`
  writeFileSync(file, `${before}${begin}\n\n${said}\n\n${end}${after}`)
}

function table(titles, rows) {
  const columns = Object.keys(titles)
  const total = Object.fromEntries(
    columns.map((name) => [name, name === 'step' ? 'in all' : rows.reduce((sum, row) => sum + row[name], 0)]),
  )
  const lines = [
    Object.values(titles),
    columns.map(() => '---'),
    ...[...rows, total].map((row) => columns.map((name) => String(row[name]))),
  ]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
