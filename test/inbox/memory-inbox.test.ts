import { MemoryInbox } from '../support/whole-inbox.js'
import { listOf } from '../../src/inbox/memory/look.js'
import { createEntry } from '../../src/inbox/memory/memory-entry.js'
import { registerInboxTests } from './contract/register-inbox-tests.js'
import { arrival } from '../support/arrivals.js'
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

  it.each(['', '0', ' 1', '1e3', '9'.repeat(40)])(
    'lists nothing after %j, which is no id',
    async (afterId) => {
      const inbox = new MemoryInbox()
      await inbox.add(arrival())
      for (const newestFirst of [false, true])
        expect((await inbox.list({}, { afterId, newestFirst })).entries).toEqual([])
    },
  )

  it('reads entries for a list only until the page is full', () => {
    const read: number[] = []
    const entries = function* () {
      for (const sequence of [1, 2, 3, 4]) {
        read.push(sequence)
        yield createEntry(arrival(), sequence, 'stored')
      }
    }
    const page = listOf(entries(), {}, { limit: 2 }, ({ state }) => state)
    expect(page.map(({ id }) => id)).toEqual(['1', '2'])
    expect(read).not.toContain(4)
  })
})
