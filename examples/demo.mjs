// The main job on real input, in one command: recorded requests byte for byte, and then the whole loop, with a simulator in
// the service's place. Exits with 0 only if nothing authentic was lost, nothing forged came in, nothing was handled twice at
// once, and every recorded request had the outcome that it must have.
import { wholeLoop } from './demo/loop.mjs'
import { deliverRecordedRequests } from './demo/recorded.mjs'
import { createProgress, printTable, rowsByFault } from './demo/report.mjs'

const startedAt = Date.now()
const progress = createProgress(process.stdout)

console.log('\nRecorded requests, as real clients and proxies put them on the wire:\n')
const recorded = await deliverRecordedRequests()
printTable(
  ['request', 'answer', 'because', 'right?'],
  recorded.map(({ what, became, why, right }) => [what, became, why, right ? 'yes' : 'NO']),
)

console.log(
  '\nThe whole loop: a token, a subscription, callbacks with every fault, a kill, an account update:\n',
)
const loop = await wholeLoop(progress)
progress.end()
printTable(['what was wrong', 'callbacks', 'requests', 'answers', 'handled'], rowsByFault(loop))

const { handled, quarantined, dead, unhandled, unfinished } = loop.states
console.log(
  `\nIn the inbox: ${handled} handled, ${quarantined} in quarantine, ${dead} dead, ${unhandled} unhandled, ` +
    `${unfinished} unfinished.`,
)
const wrong = [
  ...recorded.filter(({ right }) => !right).map(({ what }) => `another outcome than it must have: ${what}`),
  ...Object.entries(loop.steps).flatMap(([step, { ok, status }]) =>
    ok ? [] : [`${step}: answered ${status}`],
  ),
  ...Object.entries(loop.problems).flatMap(([problem, keys]) => keys.map((key) => `${problem}: ${key}`)),
  ...(dead + unhandled + unfinished > 0 ? ['the inbox was not emptied'] : []),
]
for (const line of wrong) console.log(line)
const seconds = ((Date.now() - startedAt) / 1000).toFixed(1)
console.log(
  wrong.length === 0
    ? `Nothing authentic was lost, nothing forged came in, nothing was handled twice at once (${seconds} s).`
    : `${wrong.length} things went WRONG (${seconds} s).`,
)
process.exitCode = wrong.length === 0 ? 0 : 1
