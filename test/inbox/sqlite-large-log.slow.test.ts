import { type Environment, ENVIRONMENT, SYSTEM } from '../../src/base/environment.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { inboxFile, inboxOn, openAside } from '../support/sqlite-file.js'

describe('the log of an inbox', () => {
  const megabytes = (count: number) =>
    Array.from({ length: count }, () => arrival({ body: 'x'.repeat(1_000_000) }))

  it('is warned of once when a reader keeps it from being taken over', async () => {
    const file = inboxFile()
    const log = collectedLog()
    const inbox = inboxOn(file, { logger: log })
    await inbox.add(arrival())
    const reader = await openAside(file)
    reader.exec('BEGIN; SELECT count(*) FROM entries')
    for (let round = 0; round < 4; round++) await Promise.all(megabytes(20).map((each) => inbox.add(each)))
    for (let round = 0; round < 10; round++) await inbox.add(arrival())
    reader.exec('ROLLBACK')
    reader.close()
    expect(log.withCode('WARN_INBOX_LOG_LARGE')).toMatchObject([
      {
        level: 'warn',
        message: expect.stringMatching(/callbacks\.db-wal\) has grown to \d+ MiB.*transaction/),
      },
    ])
  })

  it('is not warned of when it is large for one transaction only', async () => {
    const log = collectedLog()
    const inbox = inboxOn(inboxFile(), { logger: log })
    for (let round = 0; round < 2; round++) await Promise.all(megabytes(80).map((each) => inbox.add(each)))
    for (let round = 0; round < 3; round++) await inbox.add(arrival())
    expect(log.withCode('WARN_INBOX_LOG_LARGE')).toEqual([])
  })

  it('is not warned of by the look of each second before a large transaction was copied', async () => {
    const log = collectedLog()
    const looks: (() => void)[] = []
    const environment: Environment = {
      ...SYSTEM,
      setTimeout(run, ms) {
        looks.push(run)
        return SYSTEM.setTimeout(run, ms)
      },
    }
    const options = { logger: log, [ENVIRONMENT]: environment }
    const inbox = inboxOn(inboxFile(), options)
    for (let round = 0; round < 2; round++) {
      await Promise.all(megabytes(80).map((each) => inbox.add(each)))
      // The log is copied in the next turn of the event loop.
      for (const look of looks.splice(0)) look()
    }
    expect(log.withCode('WARN_INBOX_LOG_LARGE')).toEqual([])
  })
})
