import { registerInboxTests } from '../../../src/testing.js'
import { describeWithDatabase, withFakeClock } from '../../support/postgres-inbox.js'

describeWithDatabase('PostgresInbox', (database) => {
  registerInboxTests(async ({ retentionMs }) => {
    const schema = database.newSchema()
    const advance = await withFakeClock(database, schema)
    return { inbox: database.inboxOn(schema, { retentionMs, discardedRetentionMs: retentionMs }), advance }
  })
})
