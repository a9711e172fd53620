import { TABLES } from '../../../src/inbox/postgres/schema.js'
import { registerInboxTests } from '../../../src/testing.js'
import { describeWithAnyDatabase, withFakeClock } from '../../support/postgres-inbox.js'

describeWithAnyDatabase('PostgresInbox', (database) => {
  let schema: string
  let advance: (ms: number) => Promise<void>
  beforeAll(async () => {
    schema = database.newSchema()
    advance = await withFakeClock(database, schema)
  })

  registerInboxTests(async ({ retentionMs }) => {
    // To make a schema for each test takes longer than the test.
    await database.query(TABLES.map((table) => `DELETE FROM ${schema}.${table}`).join(';'))
    const { pool } = database
    const inbox = database.inboxOn(schema, { pool, retentionMs, discardedRetentionMs: retentionMs })
    return { inbox, advance }
  })
})
