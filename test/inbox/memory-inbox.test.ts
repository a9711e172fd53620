import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
import { registerInboxTests } from '../../src/testing/inbox-tests.js'
import { fakeClock } from '../support/fake-clock.js'

registerInboxTests((retention) => {
  const clock = fakeClock()
  return { inbox: new MemoryInbox({ ...retention, clock }), advance: (ms) => clock.advance(ms) }
})

describe('MemoryInbox', () => {
  it('refuses options that it does not have', () => {
    expect(() => new MemoryInbox({ file: 'callbacks.db' } as object)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION_UNKNOWN' }),
    )
  })

  it('remembers for a week unless told otherwise', () => {
    expect(new MemoryInbox().retentionMs).toBe(7 * 24 * 3_600_000)
  })
})
