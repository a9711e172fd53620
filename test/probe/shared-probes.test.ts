import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryIdempotencyStore } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { runReceiver, type RunOptions } from '../support/running-receiver.js'
import { bytesOf, probeOf, reportIn } from './probe-bytes.js'

let folder: string | undefined
afterEach(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true })
  folder = undefined
})

/** The options of two receivers that share what they remember. */
const SHARED: [string, () => Promise<[RunOptions, RunOptions]>][] = [
  [
    'a store',
    async () => {
      const store = new MemoryIdempotencyStore({ logger: false })
      return [{ store }, { store }]
    },
  ],
  [
    'a file of SQLite',
    async () => {
      folder = await mkdtemp(join(tmpdir(), 'countersign-probes-'))
      const file = join(folder, 'callbacks.db')
      return [{ inbox: new SqliteInbox({ file }) }, { inbox: new SqliteInbox({ file }) }]
    },
  ],
]

test.each(SHARED)('a probe is answered by one of the receivers that share %s', async (_, share) => {
  const receivers = await Promise.all((await share()).map(runReceiver))
  for (const { receiver } of receivers) await receiver.start()
  const probe = probeOf()
  const reports = []
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(receivers.map(({ send }) => send(bytesOf(probe))))
    reports.push(...answers.map((answer) => reportIn(answer, probe)).filter((report) => report !== undefined))
  }
  for (const { receiver } of receivers) await receiver.stop()
  expect(reports).toHaveLength(1)
})

const retentionMs = Infinity
const fails = () => Promise.reject(new Error('away'))

test.each<[string, RunOptions]>([
  ['a store rejects', { store: { retentionMs, claim: fails } }],
  ['a store does not answer', { store: { retentionMs, claim: () => new Promise(() => {}) } }],
  ['an inbox rejects', { inbox: Object.assign(new MemoryInbox(), { rememberProbe: fails }) }],
])('while %s, a probe is answered once by each receiver', async (_, options) => {
  const { send, receiver } = await runReceiver({ ...options, dependencyTimeoutMs: 50 })
  await receiver.start()
  const probe = probeOf()
  expect(reportIn(await send(bytesOf(probe)), probe)).toBeDefined()
  expect(reportIn(await send(bytesOf(probe)), probe)).toBeUndefined()
  await receiver.stop()
})
