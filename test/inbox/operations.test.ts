import { registerAttempts } from '../../src/testing/inbox-tests/attempts.js'
import { registerSearching } from '../../src/testing/inbox-tests/searching.js'
import { registerUndoing } from '../../src/testing/inbox-tests/undoing.js'
import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
import { fakeClock } from '../support/fake-clock.js'

const suite = {
  describe,
  it(name: string, test: (subject: { inbox: MemoryInbox; advance: (ms: number) => void }) => Promise<void>) {
    it(name, async () => {
      const clock = fakeClock()
      const inbox = new MemoryInbox({ clock })
      await test({ inbox, advance: (ms) => clock.advance(ms) })
    })
  },
}

registerAttempts(suite)
registerUndoing(suite)
registerSearching(suite)
