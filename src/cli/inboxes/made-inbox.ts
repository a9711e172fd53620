import type { Inbox } from '../../inbox/inbox.js'
import { UsageError } from '../io.js'
import type { ConfiguredInbox } from './configured-inbox.js'

/** An inbox object, which the configuration makes with `new`. Only the object knows its file or its database. */
export function madeInbox(inbox: Inbox): ConfiguredInbox {
  // By its name, as the configuration may load another copy of the package.
  const isMemory = inbox.constructor.name === 'MemoryInbox'
  const refuse = async (): Promise<never> => {
    throw new UsageError(isMemory ? IN_MEMORY : MADE)
  }
  return {
    retention: inbox,
    name: async () => `a ${inbox.constructor.name} that the configuration makes`,
    secrets: async () => [],
    create: async () => inbox,
    check: async () => ({ entries: null }),
    checkIsThere: async () => (isMemory ? refuse() : undefined),
    schemaVersion: refuse,
    migrationSql: refuse,
    lastSigned: refuse,
  }
}

const IN_MEMORY =
  'the inbox of the configuration is a MemoryInbox, and only the process that has made it can see what is in it. To keep callbacks, ' +
  'set inbox to { file } or { postgres }'
const MADE =
  'the configuration makes the inbox itself. If it is in a file, name the file with --inbox; if it is in PostgreSQL, set ' +
  'COUNTERSIGN_INBOX to its connection string'
