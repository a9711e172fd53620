import { type CallbackEvent } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { genuine, runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { inboxFile } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

const NEXT = 'the next secret'
/** By `openssl dgst -sha256 -hmac`: it is stored, so it must stay what it is. */
const FINGERPRINT = 'fbcef975b794'

describe.each([
  ['inline', () => undefined],
  ['through an inbox in memory', () => new MemoryInbox()],
  ['through an inbox of SQLite', () => new SqliteInbox({ file: inboxFile() })],
])('an event that is handled %s', (_how, createInbox) => {
  it('says by a fingerprint which secret of its subscription signed it', async () => {
    const events: CallbackEvent[] = []
    const { receiver, send } = await runReceiver({
      subscriptions: [{ ...subscription, secret: [NEXT, SECRET] }],
      inbox: createInbox(),
      handler: (event) => void events.push(event),
    })
    await receiver.start()
    await send(genuine())
    await until(() => events.length === 1)
    await send(genuine({ subscription: { ...subscription, secret: NEXT } }))
    await until(() => events.length === 2)
    await receiver.stop()
    expect(events[0]!.secretFingerprint).toBe(FINGERPRINT)
    expect(events[1]!.secretFingerprint).toMatch(/^[\da-f]{12}$/)
    expect(events[1]!.secretFingerprint).not.toBe(FINGERPRINT)
  })
})
