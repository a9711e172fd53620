import type { WholeInbox } from '../../support/whole-inbox.js'
import type { TestFramework } from '../../../src/testing/test-framework.js'

export interface InboxUnderTest {
  /** An inbox that holds nothing of another test, not opened yet; its retentions are those that were requested. */
  readonly inbox: WholeInbox
  /** Advances the clock of the inbox by so many milliseconds, or waits for this time. */
  readonly advance: (ms: number) => Promise<void> | void
}

/** The retentions that the inbox of a test must have, in milliseconds. */
export interface RetentionUnderTest {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
}

/** Where tests are registered. `it` is given an inbox of its own, open, and closed afterwards. */
export interface Suite {
  readonly describe: TestFramework['describe']
  readonly it: (name: string, test: (subject: InboxUnderTest) => Promise<void>, retentionMs?: number) => void
}
