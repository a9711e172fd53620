import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../support/built-program.js'
import { describeWithAnyDatabase } from '../support/postgres-inbox.js'
import { buildPostgresProgram } from '../support/postgres-program.js'
import { sendTwins } from '../support/twins.js'
import { until } from '../support/until.js'

const PAIRS = 10_000

describeWithAnyDatabase(
  'twins sent to two receivers with one PostgresInbox at the same moment',
  (database) => {
    it('are each stored once, and handled once, by one of them', async () => {
      const directory = mkdtempSync(join(tmpdir(), 'countersign-twins-'))
      const file = buildPostgresProgram(
        directory,
        `const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
       const handled = []
       receiver.onAny(({ payload }) => void handled.push(payload.Id))
       await receiver.start()
       const server = http.createServer(receiver.requestListener())
       server.listen(0, '127.0.0.1', () => print(server.address().port))
       for await (const line of createInterface(process.stdin)) {
         await receiver.stop()
         print(JSON.stringify(handled))
         process.exit(0)
       }`,
      )
      const programs = [1, 2].map(() => startProgram(process.execPath, [file, database.connectionString]))
      await until(() => programs.every(({ lines }) => lines.length === 1))
      const ports = programs.map(({ lines }) => Number(lines[0]))

      // 200 also for the one that came second: it has been stored.
      expect(await sendTwins(ports, PAIRS)).toEqual({ '200 and 200': PAIRS })

      const inbox = database.inboxOn('countersign')
      const unfinished = async () => {
        const { handled, ...others } = await inbox.stats()
        return others.stored + others.running + others.retrying
      }
      while ((await unfinished()) > 0);
      expect(await inbox.stats()).toMatchObject({ handled: PAIRS, quarantined: 0, dead: 0 })
      for (const { child } of programs) child.stdin.write('end\n')
      const outputs = await Promise.all(programs.map(({ ended }) => ended))
      rmSync(directory, { recursive: true })
      const handled = outputs.map((lines) => JSON.parse(lines[1]!) as string[])
      expect(handled.map(({ length }) => length > PAIRS / 100)).toEqual([true, true])
      const ids = handled.flat().map(Number)
      expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: PAIRS }, (_, i) => i))
    }, 300_000)
  },
)
