export { SqliteInbox, type SqliteInboxOptions } from './inbox/sqlite/sqlite-inbox.js'
