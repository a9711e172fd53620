import { registerInboxTests } from '../contract/register-inbox-tests.js'
import { interrupted, pollForLong, registerRequeuing } from '../requeued-entries.js'
import { describeWithAnyDatabase, withFakeTime } from '../../support/postgres-inbox.js'

describeWithAnyDatabase('PostgresInbox', (database) => {
  let schema: string
  let advance: (ms: number) => Promise<void>
  beforeAll(async () => {
    schema = await database.emptySchema()
    advance = await withFakeTime(database, schema)
  })

  registerInboxTests(async ({ retentionMs }) => {
    await database.emptySchema()
    const { pool } = database
    const inbox = database.inboxOn(schema, { pool, retentionMs, discardedRetentionMs: retentionMs })
    return { inbox, advance }
  })

  describe('with an entry that was running when its worker was killed', () => {
    const create = async () => {
      await database.emptySchema()
      return { inbox: database.inboxOn(schema, { pool: database.pool }), advance }
    }
    registerRequeuing(create)

    it('does not wait for the transaction of its handler', async () => {
      const { inbox, id } = await interrupted(create)
      const handler = await database.pool.connect()
      await handler.query(`BEGIN; SELECT FROM ${schema}.due WHERE id = ${id} FOR UPDATE`)
      try {
        await pollForLong({ inbox, advance })
        expect(await inbox.show(id)).toMatchObject({ state: 'running' })
      } finally {
        await handler.query('ROLLBACK')
        handler.release()
      }
    })
  })
})
