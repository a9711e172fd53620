import { registerInboxTests } from '../../../src/testing.js'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'

describeWithAnyDatabase('PostgresInbox', (database) => {
  let schema: string
  let advance: (ms: number) => Promise<void>
  beforeAll(async () => {
    schema = await database.emptySchema()
    advance = await withFakeClock(database, schema)
  })

  registerInboxTests(async ({ retentionMs }) => {
    await database.emptySchema()
    const { pool } = database
    const inbox = database.inboxOn(schema, { pool, retentionMs, discardedRetentionMs: retentionMs })
    return { inbox, advance }
  })
})
