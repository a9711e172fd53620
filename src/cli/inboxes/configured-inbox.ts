import type { LastSignedReport, SigningSecret } from '../../inbox/last-signed.js'
import type { Inbox } from '../../inbox/inbox.js'
import type { InboxStats } from '../../inbox/operations.js'
import type { DatabaseState } from '../../inbox/postgres/look-at-database.js'
import type { Retention, RetentionOptions } from '../../inbox/retention.js'
import type { Logger } from '../../logging/logger.js'

interface InboxUse {
  readonly logger: Logger | false
  readonly clock?: (() => number) | undefined
  /** @default that of the configuration */
  readonly retention?: Retention | undefined
  /** It is used for a moment, by a program that does nothing else. */
  readonly isBrief?: boolean
}

/** How many entries the inbox holds; null for an inbox that the configuration has made itself. */
export type InboxEntries =
  InboxStats | 'no file yet' | 'no schema yet' | 'older schema' | 'not readable' | null

export interface CheckedInbox {
  readonly entries: InboxEntries
  /** The database that was connected to. */
  readonly database?: DatabaseState | undefined
}

/**
 * The inbox that a flag, the environment or the configuration names: what a command can ask of it, whatever its engine is. Nothing is
 * loaded, looked up, created or connected to before it is asked.
 */
export interface ConfiguredInbox {
  /** As the configuration has it, unchecked. */
  readonly retention: RetentionOptions
  /** The file, or the database without its password, for messages. @throws CountersignError ERR_CONFIG_INVALID */
  name(): Promise<string>
  /** The texts that no output may contain. @throws CountersignError ERR_CONFIG_INVALID */
  secrets(): Promise<readonly string[]>
  /**
   * Loads the module of the inbox, because loading all of them takes most of the start-up time, and creates the object.
   * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID
   */
  create(use: InboxUse): Promise<Inbox>
  /**
   * Checks that a receiver can use the inbox, and counts its entries. The inbox is neither created nor migrated, because another
   * receiver may use it.
   * @throws CountersignError as the receiver's start would
   */
  check(log: Logger): Promise<CheckedInbox>
  /**
   * Refuses an inbox that a command would have to create or to migrate: to look at the wrong place must not look like an empty inbox.
   * @throws UsageError; CountersignError ERR_INBOX_OLDER, or if it cannot be read
   */
  checkIsThere(): Promise<void>
  /** 0 if nothing has been stored yet. @throws UsageError; CountersignError if it cannot be read */
  schemaVersion(): Promise<number>
  /** The SQL of the migrations, and of the grants for a role. @throws UsageError if the inbox is in no database */
  migrationSql(role: string | undefined): Promise<string>
  /** When each secret last signed a stored callback. @throws UsageError; CountersignError if it cannot be read */
  lastSigned(secrets: readonly SigningSecret[]): Promise<LastSignedReport>
}

export const NOTHING_SIGNED: LastSignedReport = { seen: [], entries: 0 }
