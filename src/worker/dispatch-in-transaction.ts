import type { Environment } from '../base/environment.js'
import { textProperty } from '../base/foreign-value.js'
import { withTimeout } from '../base/timeout.js'
import type { Dispatch, Failure } from '../handlers/dispatcher.js'
import type { ClaimToken, InboxEngine } from '../inbox/engine.js'
import type { PostgresTransaction } from '../inbox/postgres/guarded-transaction.js'

/** `lost`: somebody else has the entry, and everything was rolled back. */
type TransactionResult = 'committed' | 'lost' | Failure | NotBegun

interface NotBegun extends Omit<Failure, 'code'> {
  readonly code: 'ERR_INBOX_UNAVAILABLE'
}

export interface TransactionalDispatch {
  /** Never rejects. A failure means that everything was rolled back. */
  readonly result: Promise<TransactionResult>
  /** Resolves once every handler has really returned. Never rejects. */
  readonly settled: () => Promise<unknown>
}

interface TransactionParts {
  readonly inbox: InboxEngine
  readonly claim: ClaimToken
  /** How long the transaction may take, in milliseconds, its commit included. */
  readonly timeoutMs: number
  /** Runs the handlers. */
  readonly dispatch: (transaction: PostgresTransaction) => Dispatch
  readonly abort: (why: Error) => void
  /** Whether the end may still be recorded once the handlers have succeeded. */
  readonly mayCommit: () => boolean
  readonly environment: Environment
}

/** How much longer the inbox is waited for than its own time limit, in milliseconds: its connection may be dead. */
const REJECTION_LIMIT_MS = 5_000

/**
 * Runs the handlers of an entry in the transaction in which the entry becomes handled. When a handler fails, or its time is up,
 * `work` rejects immediately, which rolls the transaction back: nothing that the handler does after that can be committed. The
 * caller records the end of a failed attempt, once the handlers have returned: until then nobody else may take the entry.
 */
export function dispatchInTransaction({
  inbox,
  claim,
  timeoutMs,
  dispatch,
  abort,
  mayCommit,
  environment,
}: TransactionParts): TransactionalDispatch {
  let dispatched: Dispatch | undefined
  let failure: Failure | undefined
  const work = async (transaction: PostgresTransaction) => {
    dispatched = dispatch(transaction)
    failure = await dispatched.result
    if (failure) throw new RolledBack()
    if (!mayCommit()) throw new Error('the worker has stopped')
    return { move: 'complete' } as const
  }
  const run = async (): Promise<TransactionResult> => {
    try {
      const transacted = inbox.transact!(claim, { timeoutMs }, work)
      // If the commit comes later, the claim has ended by then: it is lost, and the transaction is rolled back.
      return await withTimeout(transacted, timeoutMs + REJECTION_LIMIT_MS, 'the transaction', { environment })
    } catch (error) {
      if (failure) return failure
      if (!dispatched) return { code: 'ERR_INBOX_UNAVAILABLE', error: notBegun(error) }
      const reason = notCommitted(error)
      // The connection may have been lost while they were running.
      abort(reason)
      return { code: 'ERR_HANDLER_FAILED', error: reason }
    }
  }
  return { result: run(), settled: async () => dispatched?.settled() }
}

/** Tells the inbox to roll back. Why is in the failure. */
class RolledBack extends Error {
  constructor() {
    super('a handler failed: its transaction is rolled back')
  }
}

/** Such as a constraint that is checked at the commit, a serialization failure, or a connection that was lost. */
function notCommitted(cause: unknown): Error {
  const message = `the transaction of the handler was not committed: ${messageOf(cause)}`
  return new Error(message, { cause })
}

function notBegun(cause: unknown): Error {
  const message = `no handler was called, because the transaction did not begin: ${messageOf(cause)}`
  return new Error(message, { cause })
}

function messageOf(error: unknown): string {
  return textProperty(error, 'message') ?? 'an unknown error'
}
