// Kills real receivers under load, at every step and at random, and holds what is left against the promises of the inbox.
//   node test/crash/run.mjs [--kills 210] [--seed 1] [--write]
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { SqliteInbox } from 'countersign/sqlite'
import { Load } from './load.mjs'
import { startReceiver } from './receiver-process.mjs'
import { verdict } from './verdict.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '210' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    write: { type: 'boolean', default: false },
  },
})
const STEPS = [
  'after verify',
  'before commit',
  'after commit, before the answer',
  'after claim',
  'in the handler',
  'after the handler, before complete',
  'after complete',
  'at random',
  'at random, beside a second process',
]
const SUBSCRIPTION = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}

const random = generator(Number(values.seed))
const rows = []
for (const [index, step] of STEPS.entries()) {
  const kills = Math.floor((Number(values.kills) + index) / STEPS.length)
  if (kills > 0) rows.push({ step, ...(await strikeAt(step, kills)) })
}

// Two tables, as one would be wider than a terminal.
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
const table = markdown(rows)
console.log(`seed ${values.seed}, Node ${process.versions.node}\n\n${table}`)
if (values.write) writeResult(table)
const isClean = ({ lost, stuck, twiceAtOnce, unexplained }) => lost + stuck + twiceAtOnce + unexplained === 0
if (!rows.every(isClean) || rows.every(({ acknowledged }) => acknowledged === 0)) {
  console.log('\nThe promises of the inbox did NOT hold.')
  process.exitCode = 1
}

/** One inbox, and receivers that are killed on it one after the other. */
async function strikeAt(step, kills) {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-crash-'))
  const env = {
    LEDGER: join(directory, 'ledger.jsonl'),
    INBOX_FILE: join(directory, 'callbacks.db'),
    SUBSCRIPTION: JSON.stringify(SUBSCRIPTION),
  }
  writeFileSync(env.LEDGER, '')
  const load = new Load(SUBSCRIPTION)
  const killedAt = new Map()
  try {
    for (let kill = 0; kill < kills; kill++) {
      const second = step.includes('second') ? await startReceiver(env) : undefined
      const STRIKE_PASS = String(1 + Math.floor(random() * 30))
      const receiver = await startReceiver({ ...env, STRIKE_STEP: step, STRIKE_PASS })
      // The random moment; or, at a named step that was not passed so often, the end of waiting for it.
      const struck = new AbortController()
      const limit = step.startsWith('at random') ? 20 + random() * 250 : 5_000
      delay(limit, undefined, { signal: struck.signal }).then(
        () => receiver.signal('SIGKILL'),
        () => {},
      )
      if (receiver.port) await load.drive(receiver.port, receiver.ended)
      await receiver.ended
      struck.abort()
      killedAt.set(receiver.pid, receiver.killedAt)
      second?.signal('SIGTERM')
      await second?.ended
    }
    const { handled, unfinished } = await drain(env)
    const lines = readFileSync(env.LEDGER, 'utf8').split('\n').filter(Boolean)
    const ledger = lines.map((line) => JSON.parse(line))
    const { acknowledged, sent } = load
    const result = verdict({ acknowledged, ledger, killedAt, handled, unfinished })
    return { kills, sent, acknowledged: acknowledged.size, ...result }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A receiver that is left alone for as long as it has work, at most 30 seconds. */
async function drain(env) {
  const receiver = await startReceiver(env)
  const inbox = new SqliteInbox({ file: env.INBOX_FILE })
  await inbox.open()
  const giveUpAt = Date.now() + 30_000
  let unfinished = Infinity
  while (unfinished > 0 && Date.now() < giveUpAt) {
    const { stored, running, retrying, dead, unhandled, quarantined } = await inbox.stats()
    unfinished = stored + running + retrying + dead + unhandled + quarantined
    await delay(20)
  }
  receiver.signal('SIGTERM')
  await receiver.ended
  const handled = new Set()
  for (let afterId; ;) {
    const page = await inbox.list({ states: ['handled'] }, { afterId, limit: 500 })
    for (const { idempotencyKey } of page) handled.add(idempotencyKey)
    if (page.length < 500) break
    afterId = page.at(-1).id
  }
  await inbox.close()
  return { handled, unfinished }
}

function markdown(results) {
  return [LOAD, VIOLATIONS].map((titles) => markdownTable(titles, results)).join('\n\n')
}

function markdownTable(titles, results) {
  const columns = Object.keys(titles)
  const total = Object.fromEntries(
    columns.map((name) => [
      name,
      name === 'step' ? 'in all' : results.reduce((sum, row) => sum + row[name], 0),
    ]),
  )
  const lines = [
    Object.values(titles),
    columns.map(() => '---'),
    ...[...results, total].map((row) => columns.map((name) => String(row[name]))),
  ]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function writeResult(result) {
  const file = fileURLToPath(new URL('../../docs/crash-matrix.md', import.meta.url))
  const text = readFileSync(file, 'utf8')
  const said = `<!-- result -->\n\nNode ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}:\n\n${result}\n\n<!-- /result -->`
  writeFileSync(
    file,
    text.replace(/<!-- result -->[^]*<!-- \/result -->/, () => said),
  )
}

/** mulberry32: the same seed strikes at the same moments. */
function generator(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
