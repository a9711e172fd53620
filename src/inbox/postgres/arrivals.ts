import type { AddResult, Arrival } from '../inbox.js'
import { addAll } from './add.js'
import { Batches } from './batches.js'
import type { InboxDatabase } from './inbox-database.js'
import { isFault } from './inbox-error.js'
import { insertNew } from './insert-new.js'
import type { TransactionSettings } from './transaction.js'

/**
 * Stores callbacks in batches. A batch of new callbacks is one statement. Callbacks that turn out to be known, that are suspect or
 * that have an order need several statements, so they have batches of their own, and do not hold up the new ones.
 */
export class Arrivals {
  readonly #database: InboxDatabase
  readonly #settings: TransactionSettings
  readonly #onDue: () => void
  readonly #new: Batches<Arrival, AddResult | undefined>
  readonly #others: Batches<Arrival, AddResult>

  constructor(database: InboxDatabase, settings: TransactionSettings, onDue: () => void) {
    this.#database = database
    this.#settings = settings
    this.#onDue = onDue
    const options = {
      isFault,
      bytesOf: ({ callback }: Arrival) => callback.rawBody.length,
      orderOf: ({ orderKey }: Arrival) => orderKey,
      patienceMs: PATIENCE_MS,
    }
    this.#new = new Batches({ ...options, run: (batch) => this.#storeNew(batch) })
    this.#others = new Batches({ ...options, run: (batch) => this.#add(batch) })
  }

  add(arrival: Arrival): Promise<AddResult> {
    const isPlain = arrival.suspicion === undefined && arrival.orderKey === undefined
    if (!isPlain) return this.#others.add(arrival)
    return this.#new.add(arrival).then((stored) => stored ?? this.#others.add(arrival))
  }

  /** Resolves once nothing waits and nothing is being stored. */
  async idle(): Promise<void> {
    await this.#new.idle()
    await this.#others.idle()
  }

  async #storeNew(batch: readonly Arrival[]): Promise<readonly (AddResult | undefined)[]> {
    const ids = await this.#database.statement((all) => insertNew(all, batch, this.#settings))
    if (ids?.some((id) => id !== undefined)) this.#onDue()
    return batch.map((_, index) => {
      const id = ids?.[index]
      return id === undefined ? undefined : { result: 'stored', id }
    })
  }

  async #add(batch: readonly Arrival[]): Promise<readonly AddResult[]> {
    const { results, isAnyDue } = await this.#database.commit((tx) => addAll(tx, batch, this.#settings))
    if (isAnyDue) this.#onDue()
    return results
  }
}

/** A batch usually takes a few milliseconds. One that takes longer waits for a lock or for the disk. */
const PATIENCE_MS = 20
