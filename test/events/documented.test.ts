import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InboxOperations, Receiver } from '../../src/index.js'
import { LIFECYCLE_EVENT_NAMES } from '../../src/events/lifecycle-events.js'
import { arrival } from '../support/arrivals.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'

const page = readFileSync(join(__dirname, '../../docs/events.md'), 'utf8')

test('docs/events.md lists each event, in the same order', () => {
  const [, section] = /\n## Events\n(.*?)\nThe fields:/s.exec(page)!
  const names = [...section!.matchAll(/^- `(\w+)`: /gm)].map(([, name]) => name)
  expect(names).toEqual(LIFECYCLE_EVENT_NAMES)
})

test('the job of docs/events.md retries every dead letter, also if there are more than a page', async () => {
  const job = /```js\n((?:(?!```).)*'nightly job'.*?)```/s.exec(page)![1]!
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
    ...source: string[]
  ) => (receiver: Receiver, inbox: InboxOperations, console: { log(): void }) => Promise<void>
  const { receiver, inbox } = await runInboxReceiver({ handler: null })
  for (let count = 0; count < 150; count++) await inbox.add(arrival())
  const { entries } = await inbox.claim({ eventTypes: 'any', limit: 150, leaseMs: 1_000 })
  await inbox.settle(entries.map((claim) => ({ claim, end: { move: 'deadLetter', error: 'no' } })))
  expect(await inbox.stats()).toMatchObject({ counts: { dead: 150 } })
  await new AsyncFunction('receiver', 'inbox', 'console', job)(receiver, inbox, { log() {} })
  expect(await inbox.stats()).toMatchObject({ counts: { dead: 0, stored: 150 } })
})
