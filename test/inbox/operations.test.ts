import { registerAttempts } from '../../src/testing/inbox-tests/attempts.js'
import { registerSearching } from '../../src/testing/inbox-tests/searching.js'
import { registerUndoing } from '../../src/testing/inbox-tests/undoing.js'
import type { CompleteInbox } from '../../src/index.js'
import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { inboxFile } from '../support/sqlite-file.js'
import { fakeClock } from '../support/fake-clock.js'

for (const create of [
  (clock: () => number): CompleteInbox => new MemoryInbox({ clock }),
  (clock: () => number): CompleteInbox => new SqliteInbox({ file: inboxFile(), clock }),
]) {
  const suite = {
    describe,
    it(
      name: string,
      test: (subject: { inbox: CompleteInbox; advance: (ms: number) => void }) => Promise<void>,
    ) {
      it(name, async () => {
        const clock = fakeClock()
        const inbox = create(clock)
        await inbox.open()
        await test({ inbox, advance: (ms) => clock.advance(ms) })
        await inbox.close()
      })
    },
  }

  registerAttempts(suite)
  registerUndoing(suite)
  registerSearching(suite)
}
