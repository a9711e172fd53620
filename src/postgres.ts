export { PostgresInbox, type PostgresInboxOptions } from './inbox/postgres/postgres-inbox.js'
export { grantStatements, migrationSql } from './inbox/postgres/schema.js'
export type { PostgresClient, PostgresPool } from './inbox/postgres/driver.js'
export type { PostgresTransaction } from './inbox/postgres/guarded-transaction.js'
