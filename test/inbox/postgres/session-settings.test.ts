import pg from 'pg'
import { arrival } from '../../support/arrivals.js'
import { describeWithAnyDatabase } from '../../support/postgres-inbox.js'

const ANY = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

describeWithAnyDatabase('a PostgresInbox of which', (database) => {
  it('the pool returns each bigint as a number lets the next entry of an order key follow a decision', async () => {
    const pool = poolWithParser(pg.types.builtins.INT8, Number)
    const inbox = database.inboxOn(database.newSchema(), { pool })
    const first = await inbox.add(arrival({ orderKey: 'account 1' }))
    const second = await inbox.add(arrival({ orderKey: 'account 1' }))
    expect(await inbox.act(first.id, 'discard', 'ann')).toEqual({ done: true })
    const { entries } = await inbox.claim(ANY)
    expect(entries.map(({ id }) => id)).toEqual([second.id])
    await inbox.close()
    await pool.end()
  })

  function poolWithParser(type: number, parser: (text: string) => unknown): pg.Pool {
    const getTypeParser = (oid: number, format: 'text') =>
      oid === type ? parser : pg.types.getTypeParser(oid, format)
    const types = { getTypeParser } as pg.CustomTypesConfig
    return new pg.Pool({ connectionString: database.connectionString, types })
  }
})
