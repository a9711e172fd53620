import { setImmediate as nextTick } from 'node:timers/promises'
import { deletableBefore } from '../../src/inbox/retention.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { fakeClock } from '../support/fake-clock.js'
import { interposed } from '../support/interposed-inbox.js'
import { work } from '../support/running-worker.js'
import { inboxFile } from '../support/sqlite-file.js'
import { until } from '../support/until.js'
import { settle } from '../support/settle.js'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 10, 3, 9, 14, 27)

/** Runs a receiver's worker on the file, with its clock set so, until it has looked for what to delete. */
async function runAt(at: number, file: string): Promise<void> {
  const clock = fakeClock(at)
  const sqlite = new SqliteInbox({ file, clock })
  const { inbox, calls } = interposed(sqlite)
  const { worker } = work({ clock, inbox })
  await until(() => calls.prune >= 2)
  await nextTick()
  await worker.stop(1_000)
  await sqlite.close()
}

describe('a process that is started with its clock ahead', () => {
  it.each([8, 365])('by %d days does not forget what was handled', async (days) => {
    const file = inboxFile()
    const handled = arrival({ signedAt: new Date(NOW) })
    const inbox = new SqliteInbox({ file, clock: () => NOW })
    const { id } = await inbox.add(handled)
    const {
      entries: [claim],
    } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
    await settle(inbox, claim!, { move: 'complete' })
    await inbox.close()

    await runAt(NOW + days * DAY, file)

    const afterwards = new SqliteInbox({ file, clock: () => NOW + 60_000 })
    expect(await afterwards.add(handled)).toEqual({ result: 'duplicate', id })
    await afterwards.close()
  })
})

describe('what may be deleted', () => {
  const retentionMs = 7 * DAY
  const retention = { retentionMs, discardedRetentionMs: 30 * DAY }
  const handled = { state: 'handled' } as const

  it.each<[string, number, number | undefined, number]>([
    ['both clocks agree', NOW, NOW, NOW - 7 * DAY],
    ['the service has signed nothing for a day', NOW, NOW - DAY, NOW - 8 * DAY],
    ['the clock of the machine is behind', NOW, NOW + DAY, NOW - 7 * DAY],
    ['nothing is known of the service', NOW, undefined, -Infinity],
  ])('is what is older than the retention by both clocks: %s', (_, now, latestSignedAt, expected) => {
    expect(deletableBefore(handled, { now, latestSignedAt }, retention)).toBe(expected)
  })

  it('is never younger than the retention, whatever is asked', () => {
    const clocks = { now: NOW, latestSignedAt: NOW }
    const end = (olderThanMs: number) => deletableBefore({ ...handled, olderThanMs }, clocks, retention)
    expect(end(0)).toBe(NOW - 7 * DAY)
    expect(end(9 * DAY)).toBe(NOW - 9 * DAY)
  })

  it.each([
    [30, 30],
    [1, 7],
  ])(
    'is kept for the retention of %d days after it was discarded, and no shorter than what was handled',
    (days, kept) => {
      const clocks = { now: NOW, latestSignedAt: NOW }
      const options = { retentionMs, discardedRetentionMs: days * DAY }
      expect(deletableBefore({ state: 'discarded' }, clocks, options)).toBe(NOW - kept * DAY)
    },
  )
})
