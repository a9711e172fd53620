import pg from 'pg'
import type { ClaimEnd, ClaimToken, SettledClaim } from '../../../src/inbox/engine.js'
import type { PostgresInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { describeWithDatabase, withFakeClock } from '../../support/postgres-inbox.js'
import { randomRuns } from '../../support/random-runs.js'
import { work } from '../../support/running-worker.js'
import { settle } from '../../support/settle.js'
import { TcpProxy } from '../../support/tcp-proxy.js'
import { nextLook, until } from '../../support/until.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const
const COMPLETE = { move: 'complete' } as const
const LATER = { move: 'reschedule', delayMs: 0, error: 'not today' } as const
const ENTRIES = randomRuns(200)

describeWithDatabase('the end of a claim whose answer is lost', (database) => {
  let schema: string
  let proxy: TcpProxy
  beforeEach(async () => {
    schema = database.newSchema()
    proxy = await TcpProxy.start(database.server.port)
  })
  afterEach(() => proxy.stop())

  const proxied = (): PostgresInbox => {
    const connectionString = database.connectionString.replace(/:\d+\//, `:${proxy.port}/`)
    return database.inboxOn(schema, { connectionString })
  }
  const loseAnswers = (isLost: () => boolean) => {
    proxy.cutAfter = (bytes) => bytes.includes('settle_entries') && isLost()
  }
  /** Repeats the call until it is answered, as the worker does. */
  const settleEventually = async (inbox: PostgresInbox, ends: readonly SettledClaim[]) => {
    for (;;) {
      try {
        return await inbox.settle(ends)
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_INBOX_(UNREACHABLE|BUSY)$/) })
      }
    }
  }
  const notRunning = async () => {
    const running = `SELECT 1 FROM ${schema}.due WHERE state = 'running'`
    for (let looks = 0; (await database.query(running)).rowCount !== 0; looks++) await nextLook(looks)
  }

  it.each<ClaimEnd>([
    COMPLETE,
    { move: 'deadLetter', error: 'account is closed' },
    { move: 'reschedule', delayMs: 60_000, error: 'not today' },
  ])('is recognised by the repeat, and by no other call: %j', async (end) => {
    const inbox = proxied()
    await inbox.add(arrival())
    const claim = (await inbox.claim(ANY)).entries[0]!
    let cuts = 0
    loseAnswers(() => cuts++ === 0)
    await expect(settle(inbox, claim, end)).rejects.toMatchObject({ code: 'ERR_INBOX_UNREACHABLE' })
    await notRunning()
    const other = end.move === 'complete' ? ({ move: 'deadLetter', error: 'late' } as const) : COMPLETE
    expect(await settle(inbox, claim, other)).toBe(false)
    expect(await settle(proxied(), claim, end)).toBe(false)
    expect(await settle(inbox, claim, end)).toBe(true)
    expect(cuts).toBeGreaterThan(0)
  })

  it('is reported by a worker as handled, and not as a lost lease', async () => {
    const inbox = proxied()
    // The schema is made before answers are lost.
    await inbox.open()
    let cuts = 0
    loseAnswers(() => cuts++ === 0)
    const { worker, events, store } = work({ inbox })
    const reported: string[] = []
    events.on('handled', () => reported.push('handled'))
    events.on('leaseLost', () => reported.push('leaseLost'))
    await store()
    await until(() => reported.length > 0)
    expect(reported).toEqual(['handled'])
    expect(cuts).toBeGreaterThan(1)
    await worker.stop(1_000)
  })

  it('is not taken for that of a claim that was lost', async () => {
    const inbox = database.inboxOn(schema)
    await inbox.add(arrival())
    const claim = (await inbox.claim({ ...ANY, leaseMs: 1 })).entries[0]!
    const client = new pg.Client(database.connectionString)
    await client.connect()
    await client.query(`BEGIN; LOCK TABLE ${schema}.due`)
    await expect(settle(inbox, claim, COMPLETE)).rejects.toMatchObject({ code: 'ERR_INBOX_BUSY' })
    await client.query('ROLLBACK')
    await client.end()
    const other = database.inboxOn(schema)
    const [next] = (await other.claim(ANY)).entries
    expect(await settle(other, next!, COMPLETE)).toBe(true)
    expect(await settle(inbox, claim, COMPLETE)).toBe(false)
  })

  it('is reported by the claim that recorded it and by no other, however many answers are lost', async () => {
    const advance = await withFakeClock(database, schema)
    const inboxes = [proxied(), database.inboxOn(schema)]
    // What is asked at the start has the name of the function, too.
    await inboxes[0]!.open()
    await Promise.all(Array.from({ length: ENTRIES }, () => inboxes[1]!.add(arrival())))
    loseAnswers(() => Math.random() < 0.3)
    const reported: string[] = []
    const isOver = async () => (await inboxes[1]!.stats()).counts.handled === ENTRIES
    const handle = async (inbox: PostgresInbox) => {
      let earlier: readonly ClaimToken[] = []
      for (let isLast = false; !isLast || earlier.length > 0;) {
        isLast = await isOver()
        // The leases of some claims end before these are settled, and the other inbox may claim the entries meanwhile.
        const { entries } = await inbox.claim({ ...ANY, limit: 2, leaseMs: Math.random() < 0.5 ? 1 : 60_000 })
        await advance(2)
        const ends = earlier.map((claim) => ({ claim, end: Math.random() < 0.3 ? LATER : COMPLETE }))
        const held = await settleEventually(inbox, ends)
        for (const { claim, end } of ends)
          if (end === COMPLETE && held.has(claim.id)) reported.push(`${claim.id} ${claim.token}`)
        earlier = entries
      }
    }
    await Promise.all(inboxes.map(handle))
    const { rows } = await database.query(`SELECT id, token FROM ${schema}.ended WHERE state = 'handled'`)
    expect(reported.sort()).toEqual(rows.map(({ id, token }) => `${id} ${token}`).sort())
  }, 60_000)
})
