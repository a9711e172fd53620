// Everything the service's documentation shows, from a token to an account update, with a simulator in the service's place:
// several hundred callbacks with every fault there is, and a receiver that is killed in between.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient, generateSecret } from 'countersign/client'
import { SqliteInbox } from 'countersign/sqlite'
import { startServiceSimulator } from 'countersign/simulator'
import { judge } from './judge.mjs'
import { ReceiverProcess } from './receiver-process.mjs'

const eventTypeName = 'transfers.book-completed'
const callbackUrl = 'https://partner.example.com/hooks/transfers'

const FAULTS = [
  'repeat',
  'repeat-signed-anew',
  'twins',
  'late',
  'early',
  'wrong-secret',
  'unsigned',
  'tampered',
  'truncated',
  'previous-secret',
  'rewritten-key',
  'rewritten-type',
  'other-body',
  'not-json',
  { kind: 'oversize', bytes: 100_000 },
  { kind: 'slow', overMs: 200 },
  'cut-before-answer',
  'cut-in-body',
]
// Whether the service sends again what was not taken, and with which timestamp, is not documented.
const RETRIES = ['first', 'fresh'].map((timestamp) => ({
  delaysMs: [100, 200, 400, 800, 1_600, 3_200],
  timestamp,
}))
const OF_EACH_FAULT = 15
const WITHOUT_FAULT = 300

/** What was delivered and what became of it. `progress` is shown what is going on. */
export async function wholeLoop(progress) {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-demo-'))
  const inboxFile = join(directory, 'callbacks.db')
  const ledgerFile = join(directory, 'ledger.jsonl')
  writeFileSync(ledgerFile, '')
  // The first secret is about to be replaced: both are accepted while that lasts.
  const secrets = [generateSecret(), generateSecret()]
  const receiver = new ReceiverProcess({
    SUBSCRIPTIONS: JSON.stringify([{ eventTypeName, callbackUrl, secret: secrets }]),
    INBOX_FILE: inboxFile,
    LEDGER: ledgerFile,
  })
  const simulator = await startServiceSimulator({
    seed: 1,
    deliverTo: () => receiver.origin,
  })
  const client = createClient({ baseUrl: simulator.baseUrl, ...simulator.credentials })
  try {
    progress.show('a token, the receiver, a subscription')
    await client.accessToken()
    await receiver.start()
    const created = await client.subscriptions.create({
      eventTypeName,
      callbackUrl,
      secret: secrets[0],
      description: 'the demonstration',
    })
    simulator.rotateSecret(simulator.subscriptions[0], secrets[1])

    const planned = [
      ...Array.from({ length: WITHOUT_FAULT }, (_, index) => ({ payload: payload(index) })),
      ...Array.from({ length: OF_EACH_FAULT }, () => FAULTS.map((fault) => ({ fault }))).flat(),
    ].map((each, index) => ({ ...each, retry: RETRIES[index % 2] }))
    const delivering = simulator.deliverMany(planned, { concurrency: 16, shuffle: true })
    const counting = countUp(simulator, planned.length, progress)
    await untilDelivered(simulator, planned.length / 2)
    await receiver.kill()
    await delay(250)
    await receiver.start()
    await delivering
    counting.stop()

    progress.show('an account update')
    const updated = await client.accounts.update('4711', { name: 'Petty cash', searchable: false })

    const states = await untilEmpty(inboxFile, progress)
    await receiver.stop()
    const ledger = readFileSync(ledgerFile, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    const { deliveries } = simulator
    return {
      deliveries,
      states,
      steps: { subscription: created, 'account update': updated },
      ...judge({ deliveries, ledger, killed: receiver.killed }),
    }
  } finally {
    await receiver.stop()
    await simulator.close()
    await client.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Every tenth makes its handler fail once. */
function payload(index) {
  const Id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
  return index % 10 === 0 ? { Id, failsAtFirst: true } : { Id }
}

async function untilDelivered(simulator, count) {
  while (simulator.deliveries.filter(({ attempts }) => attempts.length > 0).length < count) await delay(5)
}

function countUp(simulator, total, progress) {
  const show = () => progress.show('callbacks', simulator.deliveries.length, total)
  const timer = setInterval(show, 100)
  return { stop: () => clearInterval(timer) }
}

/** What is where in the inbox once there is nothing left to do, at most 30 seconds later. */
async function untilEmpty(file, progress) {
  const inbox = new SqliteInbox({ file })
  await inbox.open()
  try {
    const giveUpAt = Date.now() + 30_000
    for (;;) {
      const { handled, quarantined, dead, unhandled, stored, running, retrying } = (await inbox.stats())
        .counts
      const unfinished = stored + running + retrying
      progress.show('waiting until the inbox is empty', handled, handled + unfinished)
      if (unfinished === 0 || Date.now() > giveUpAt)
        return { handled, quarantined, dead, unhandled, unfinished }
      await delay(50)
    }
  } finally {
    await inbox.close()
  }
}
