export { SqliteInbox, type SqliteInboxOptions } from './inbox/sqlite-inbox.js'
