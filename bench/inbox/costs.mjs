// What an entry costs with so many others in the file, 64 callers at a time; and how fast a worker empties an inbox.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver } from 'countersign'
import { SqliteInbox } from 'countersign/sqlite'
import { subscription } from '../receiver/requests.mjs'
import { CALLERS, empty, fill } from './entries.mjs'

const MEASURED = 6_400

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  const perEntry = []
  const inbox = new SqliteInbox({ file: join(directory, 'costs.db') })
  await inbox.open()
  let size = 0
  for (const wanted of process.argv.slice(2).map(Number)) {
    await fill(inbox, wanted - size, { callers: 500 })
    size = wanted + MEASURED
    const addUs = await timed(() => fill(inbox, MEASURED))
    const claimUs = await timed(() => empty(inbox, MEASURED))
    perEntry.push({ size: wanted, addUs, claimUs })
  }
  await inbox.close()
  console.log(JSON.stringify({ perEntry, worker: await workerPerSecond() }))
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function workerPerSecond() {
  const count = 5_000
  const inbox = new SqliteInbox({ file: join(directory, 'worker.db') })
  await inbox.open()
  await fill(inbox, count)
  let handled = 0
  const done = new Promise((resolve) => {
    const receiver = createReceiver({
      subscriptions: [subscription],
      inbox,
      concurrency: CALLERS,
      logger: false,
    })
    receiver.on(subscription.eventTypeName, () => ++handled === count && resolve(receiver))
    void receiver.start()
  })
  const startedAt = performance.now()
  const receiver = await done
  const seconds = (performance.now() - startedAt) / 1000
  await receiver.stop()
  return count / seconds
}

async function timed(work) {
  const startedAt = performance.now()
  await work()
  return ((performance.now() - startedAt) * 1000) / MEASURED
}
