import { invalidOption, isRecord, kindOf } from '../base/option-checks.js'
import type { EntryId } from '../callback/callback.js'
import { activityRange, timeOf, type ActivityBucket, type ActivityRequest } from './activity.js'
import type { EngineFilter, InboxEngine } from './engine.js'
import { checkAction, checkCount, checkId, checkPage, checkPrune } from './operation-checks.js'
import type {
  ActOptions,
  ActResult,
  Entry,
  EntryCount,
  EntryFilter,
  EntryList,
  EntryPage,
  InboxOperations,
  InboxStats,
  OperatorAction,
  PruneEntries,
  RelatedEntry,
} from './operations.js'
import { decisionOf } from './operator-action.js'

/** Where an inbox has what receivers and workers use. A process may load the package twice, so it is a registered symbol. */
export const ENGINE: unique symbol = Symbol.for('countersign.engine')

/** Where a receiver and a worker have their inbox, for the console and for metrics. */
export const INBOX: unique symbol = Symbol.for('countersign.inbox')

/** An inbox, as operators see it: checks their arguments, and has its engine do the work. */
export class Inbox implements InboxOperations {
  readonly #engine: InboxEngine

  constructor(engine: InboxEngine) {
    this.#engine = engine
  }

  /** For receivers and workers. It is not a part of the public interface. */
  get [ENGINE](): InboxEngine {
    return this.#engine
  }

  get retentionMs(): number {
    return this.#engine.retentionMs
  }

  get discardedRetentionMs(): number {
    return this.#engine.discardedRetentionMs
  }

  open(): Promise<void> {
    return this.#engine.open()
  }

  stats(): Promise<InboxStats> {
    return this.#engine.stats()
  }

  async list(filter: EntryFilter, page: EntryPage = {}): Promise<EntryList> {
    checkPage('inbox.list', filter, page)
    return this.#engine.list(inMilliseconds(filter), page)
  }

  async count(filter: EntryFilter, max: number): Promise<EntryCount> {
    checkCount(filter, max)
    return this.#engine.count(inMilliseconds(filter), max)
  }

  async activity(request: ActivityRequest): Promise<readonly ActivityBucket[]> {
    return this.#engine.activity(activityRange(request))
  }

  async show(id: EntryId): Promise<Entry | undefined> {
    checkId('inbox.show', id)
    return this.#engine.show(id)
  }

  async related(id: EntryId): Promise<RelatedEntry[]> {
    checkId('inbox.related', id)
    return this.#engine.related(id)
  }

  async act(id: EntryId, action: OperatorAction, by: string, options?: ActOptions): Promise<ActResult> {
    checkId('inbox.act', id)
    checkAction('inbox.act', action)
    return this.#engine.act(id, action, decisionOf(by, options))
  }

  async prune(request: PruneEntries): Promise<number> {
    checkPrune(request)
    return this.#engine.prune(request)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

/** The option `inbox`, if it is an inbox of this package. @throws CountersignError ERR_OPTION_INVALID */
export function inboxOption(owner: string, inbox: unknown): Inbox {
  if (isInbox(inbox)) return inbox
  // A text may be a connection string with a password.
  throw invalidOption(owner, 'inbox', inbox, cureOf(inbox), kindOf(inbox))
}

function inMilliseconds({ before, after, ...filter }: EntryFilter): EngineFilter {
  return {
    ...filter,
    before: before === undefined ? undefined : timeOf(before),
    after: after === undefined ? undefined : timeOf(after),
  }
}

export function isInbox(value: unknown): value is Inbox {
  return typeof value === 'object' && value !== null && ENGINE in value
}

function cureOf(given: unknown): string {
  if (given === ':memory:') return 'pass new MemoryInbox()'
  if (typeof given === 'string')
    return /^postgres(ql)?:/i.test(given)
      ? 'pass new PostgresInbox({ connectionString }) of countersign/postgres'
      : 'pass new SqliteInbox({ file }) of countersign/sqlite'
  if (isRecord(given) && 'file' in given) return 'pass new SqliteInbox({ file }) of countersign/sqlite'
  if (isRecord(given) && ['connect', 'query'].every((name) => typeof given[name] === 'function'))
    return 'pass new PostgresInbox({ pool }) of countersign/postgres'
  return 'pass a SqliteInbox, a PostgresInbox or a MemoryInbox, made with new'
}
