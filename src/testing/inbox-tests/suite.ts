import type { CompleteInbox } from '../../inbox/inbox.js'
import type { TestFramework } from '../test-framework.js'

export interface InboxUnderTest {
  /** An inbox that holds nothing of another test, not opened yet; its `retentionMs` is the one that was asked for. */
  readonly inbox: CompleteInbox
  /** Moves the inbox's time on by so many milliseconds, or waits for as long. */
  readonly advance: (ms: number) => Promise<void> | void
}

/** Where tests are registered. `it` is given an inbox of its own, open, and closed afterwards. */
export interface Suite {
  readonly describe: TestFramework['describe']
  readonly it: (name: string, test: (subject: InboxUnderTest) => Promise<void>, retentionMs?: number) => void
}
