import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import prettier from 'prettier'
import { OUTCOMES } from '../../dist/index.js'
import { read, root } from './project.mjs'

const BETWEEN_MARKERS = /(?<=<!-- outcomes -->\n)[^]*?(?=<!-- \/outcomes -->)/

/** docs/outcomes.md has the outcomes of the code. */
export async function checkOutcomes() {
  const written = BETWEEN_MARKERS.exec(read('docs/outcomes.md'))?.[0]
  if (written === (await outcomesTable())) return []
  return [
    'docs/outcomes.md: the table is not the one of src/callback/outcomes.ts: run node .ci/docs-check.mjs --write',
  ]
}

export async function writeOutcomes() {
  const table = await outcomesTable()
  writeFileSync(
    join(root, 'docs/outcomes.md'),
    read('docs/outcomes.md').replace(BETWEEN_MARKERS, () => table),
  )
}

async function outcomesTable() {
  const rows = Object.entries(OUTCOMES).map(([code, { status, name, withInbox }]) => {
    const stored = withInbox ? `${withInbox.status} ${withInbox.name}` : ''
    return `\`${code}\` | ${status} | ${name} | ${stored}`
  })
  const table = ['code | status | outcome | with an inbox', '--- | --- | --- | ---', ...rows]
  // Not a column: the table would be wider than a terminal.
  const reasons = Object.entries(OUTCOMES).map(([code, { reason }]) => `- \`${code}\`: ${inMarkdown(reason)}`)
  const lines = [...table.map((row) => `| ${row} |`), '', 'The reasons, as the log has them:', '', ...reasons]
  const config = await prettier.resolveConfig(join(root, 'docs/outcomes.md'))
  return `\n${await prettier.format(lines.join('\n'), { ...config, parser: 'markdown' })}\n`
}

/** Markdown would take the underscores of `_res` and the like for emphasis. */
function inMarkdown(reason) {
  return reason.replace(/express\.json\(\{.*\}\)/, '`$&`')
}

/** Every code that the source names, and no other, has one heading in docs/errors.md. */
export function checkCodes() {
  if (!existsSync(join(root, 'docs/errors.md'))) return ['there is no docs/errors.md']
  const named = new Set([
    ...codesInSource(),
    ...Object.keys(OUTCOMES).filter((code) => code.startsWith('ERR_')),
  ])
  const headings = [...read('docs/errors.md').matchAll(/^### `((?:ERR|WARN)_[A-Z0-9_]+)`$/gm)]
  const explained = new Set()
  const repeated = []
  for (const [, code] of headings) {
    if (explained.has(code)) repeated.push(code)
    explained.add(code)
  }
  const missing = [...named].filter((code) => !explained.has(code))
  const stale = [...explained].filter((code) => !named.has(code))
  return [
    ...missing.map((code) => `docs/errors.md: has no heading for ${code}`),
    ...repeated.map((code) => `docs/errors.md: has two headings for ${code}`),
    ...stale.map((code) => `docs/errors.md: explains ${code}, which no source file names`),
  ]
}

// Codes of Node's that the source may look out for.
const OF_NODE = new Set([
  'ERR_MODULE_NOT_FOUND',
  'ERR_PACKAGE_PATH_NOT_EXPORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
])

function codesInSource() {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...read(join('src', name)).matchAll(/'((?:ERR|WARN)_[A-Z0-9_]*[A-Z0-9])'/g)])
    .map(([, code]) => code)
    .filter((code) => !OF_NODE.has(code))
}
