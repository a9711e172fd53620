import type { AddResult, Arrival } from '../engine.js'
import { addAll, isDue, type TriedArrival } from './add.js'
import type { ArrivalToStore } from './arriving-rows.js'
import { Batches } from './batches.js'
import type { InboxDatabase } from './inbox-database.js'
import { CommonHeaders } from './common-headers.js'
import { busyError, isFault } from './inbox-error.js'
import { insertNew, type StoringSettings } from './insert-new.js'
import type { PostgresInboxSettings } from './options.js'

/**
 * Stores callbacks in batches. A batch of new callbacks is one statement. Callbacks that turn out to be known, that are suspect or
 * that have an order need several statements, so they have batches of their own, and do not hold up the new ones.
 */
export class Arrivals {
  readonly #database: InboxDatabase
  readonly #settings: StoringSettings
  readonly #onDue: () => void
  readonly #new: Batches<ArrivalToStore, AddResult | typeof NOT_NEW | undefined>
  readonly #others: Batches<TriedArrival, AddResult>

  constructor(database: InboxDatabase, settings: PostgresInboxSettings, onDue: () => void) {
    this.#database = database
    this.#settings = { ...settings, commonHeaders: new CommonHeaders() }
    this.#onDue = onDue
    const bytesOf = ({ callback }: Arrival) => callback.rawBody.length
    const orderOf = ({ orderKey }: Arrival) => orderKey
    // Its sender has been answered by then, unless dependencyTimeoutMs is longer than by default.
    const limitMs = 2 * settings.busyTimeoutMs
    const lateError = () => busyError(settings.schema, `others were not stored within ${limitMs} ms`)
    const { environment } = settings
    const options = { isFault, patienceMs: PATIENCE_MS, limitMs, lateError, environment }
    this.#new = new Batches({ ...options, bytesOf, orderOf, run: (batch) => this.#storeNew(batch) })
    this.#others = new Batches({
      ...options,
      bytesOf: ({ arrival }) => bytesOf(arrival),
      orderOf: ({ arrival }) => orderOf(arrival),
      run: (batch) => this.#add(batch),
    })
  }

  add(arrival: ArrivalToStore): Promise<AddResult> {
    const isPlain = arrival.suspicion === undefined && arrival.orderKey === undefined
    if (!isPlain) return this.#others.add({ arrival, mayBeNew: true })
    return this.#new.add(arrival).then((stored) => {
      if (stored !== undefined && stored !== NOT_NEW) return stored
      return this.#others.add({ arrival, mayBeNew: stored === undefined })
    })
  }

  /** Resolves once nothing waits and nothing is being stored. No other arrival may follow. */
  async close(): Promise<void> {
    await this.#new.idle()
    await this.#others.idle()
  }

  /** Resolves to undefined for each callback if nothing could be tried. */
  async #storeNew(
    batch: readonly ArrivalToStore[],
  ): Promise<readonly (AddResult | typeof NOT_NEW | undefined)[]> {
    const results = await this.#database.statement(
      (all) => insertNew(all, batch, this.#settings),
      awaitedUntil(batch),
    )
    if (!results) return batch.map(() => undefined)
    if (results.some((stored) => stored && isDue(stored))) this.#onDue()
    return results.map((stored) => stored ?? NOT_NEW)
  }

  async #add(batch: readonly TriedArrival[]): Promise<readonly AddResult[]> {
    const { results, isAnyDue } = await this.#database.commit(
      (tx) => addAll(tx, batch, this.#settings),
      awaitedUntil(batch.map(({ arrival }) => arrival)),
    )
    if (isAnyDue) this.#onDue()
    return results
  }
}

/** Until when the caller of one of them waits. */
function awaitedUntil(batch: readonly Arrival[]): number {
  return Math.max(...batch.map((arrival) => arrival.awaitedUntil ?? Infinity))
}

const NOT_NEW = 'not-new'

/** A batch usually takes a few milliseconds. One that takes longer waits for a lock or for the disk. */
const PATIENCE_MS = 20
