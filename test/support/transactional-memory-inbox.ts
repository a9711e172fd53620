import type { ClaimEnd, ClaimToken, TransactOptions } from '../../src/inbox/engine.js'
import { MemoryInbox } from './whole-inbox.js'
import type { PostgresTransaction } from '../../src/postgres.js'

/** What handlers write with. It refuses to once the transaction is over. */
export class MemoryTransaction implements PostgresTransaction {
  readonly written: string[] = []
  isOver = false

  query(text: string): Promise<void> {
    if (this.isOver) throw new Error('the transaction is over')
    this.written.push(text)
    return Promise.resolve()
  }
}

/** A transactional inbox in memory, whose steps fail while a test says so. */
export class TransactionalMemoryInbox extends MemoryInbox {
  /** What has been committed. */
  readonly committed: string[] = []
  readonly transactions: MemoryTransaction[] = []
  readonly timeoutsMs: number[] = []
  beginsWith: () => Promise<unknown> = async () => {}
  commitsWith: () => Promise<unknown> = async () => {}
  /** Rejects where the connection is lost while handlers run. */
  connectionLost: Promise<never> = new Promise(() => {})

  async transact(
    claim: ClaimToken,
    { timeoutMs }: TransactOptions,
    work: (transaction: MemoryTransaction) => Promise<ClaimEnd>,
  ): Promise<'committed' | 'lost'> {
    this.timeoutsMs.push(timeoutMs)
    await this.beginsWith()
    const transaction = new MemoryTransaction()
    this.transactions.push(transaction)
    try {
      const end = await Promise.race([work(transaction), this.connectionLost])
      transaction.isOver = true
      await this.commitsWith()
      const held = await this.settle([{ claim, end }])
      if (!held.has(claim.id)) return 'lost'
      if (end.move === 'complete') this.committed.push(...transaction.written)
      return 'committed'
    } finally {
      transaction.isOver = true
    }
  }
}
