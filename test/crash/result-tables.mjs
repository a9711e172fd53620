// The result as Markdown: two tables, as one would be wider than a terminal.
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

export const resultTables = (rows) => [LOAD, VIOLATIONS].map((titles) => table(titles, rows)).join('\n\n')

/** Replaces the result in docs/crash-matrix.md. */
export function writeResult(tables) {
  const file = fileURLToPath(new URL('../../docs/crash-matrix.md', import.meta.url))
  const text = readFileSync(file, 'utf8')
  const date = new Date().toISOString().slice(0, 10)
  const said = `<!-- result -->\n\nNode ${process.versions.node}, ${date}:\n\n${tables}\n\n<!-- /result -->`
  writeFileSync(
    file,
    text.replace(/<!-- result -->[^]*<!-- \/result -->/, () => said),
  )
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
