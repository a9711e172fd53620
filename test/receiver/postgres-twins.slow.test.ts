import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeWithAnyDatabase } from '../support/postgres-inbox.js'
import { buildPostgresProgram } from '../support/postgres-program.js'
import { receiverOfTwins, sendTwins, startTwins } from '../support/twins.js'

const PAIRS = 10_000

describeWithAnyDatabase(
  'twins sent to two receivers with one PostgresInbox at the same moment',
  (database) => {
    it('are each stored once, and handled once, by one of them', async () => {
      const directory = mkdtempSync(join(tmpdir(), 'countersign-twins-'))
      const program = buildPostgresProgram(directory, receiverOfTwins('inbox'))
      const { ports, expectHandled } = await startTwins(program, database.connectionString)

      // 200 also for the one that came second: it has been stored.
      expect(await sendTwins(ports, PAIRS)).toEqual({ '200 and 200': PAIRS })

      const inbox = database.inboxOn('countersign')
      const unfinished = async () => {
        const { counts } = await inbox.stats()
        return counts.stored + counts.running + counts.retrying
      }
      while ((await unfinished()) > 0);
      expect(await inbox.stats()).toMatchObject({ counts: { handled: PAIRS, quarantined: 0, dead: 0 } })
      await expectHandled(PAIRS)
      rmSync(directory, { recursive: true })
    }, 300_000)
  },
)
