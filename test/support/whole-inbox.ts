import type { InboxEngine } from '../../src/inbox/engine.js'
import { ENGINE, Inbox } from '../../src/inbox/inbox.js'
import { MemoryInbox as RealMemoryInbox, type MemoryInboxOptions } from '../../src/inbox/memory-inbox.js'
import type { PostgresInboxOptions } from '../../src/inbox/postgres/options.js'
import { PostgresInbox as RealPostgresInbox } from '../../src/inbox/postgres/postgres-inbox.js'
import {
  SqliteInbox as RealSqliteInbox,
  type SqliteInboxOptions,
} from '../../src/inbox/sqlite/sqlite-inbox.js'

const OF_ALL = ['open', 'add', 'claim', 'begin', 'extend', 'settle', 'rememberProbe', 'close'] as const
const OF_POSTGRES = [...OF_ALL, 'watch', 'transact'] as const

type OfAll = Pick<InboxEngine, (typeof OF_ALL)[number]>
type OfPostgres = OfAll & Required<Pick<InboxEngine, 'watch' | 'transact'>>

/** An inbox that shows what receivers and workers use as well. */
export type WholeInbox = Inbox & OfAll & Pick<InboxEngine, 'watch' | 'transact' | 'maxTransactions'>

export const MemoryInbox = whole<[MemoryInboxOptions?], RealMemoryInbox & OfAll>(RealMemoryInbox, OF_ALL)
export type MemoryInbox = InstanceType<typeof MemoryInbox>

export const SqliteInbox = whole<[SqliteInboxOptions], RealSqliteInbox & OfAll>(RealSqliteInbox, OF_ALL)
export type SqliteInbox = InstanceType<typeof SqliteInbox>

export const PostgresInbox = whole<[PostgresInboxOptions], RealPostgresInbox & OfPostgres>(
  RealPostgresInbox,
  OF_POSTGRES,
)
export type PostgresInbox = InstanceType<typeof PostgresInbox>

/** Receivers and workers use the methods of the object itself, so a test can replace them. */
function whole<Options extends unknown[], Whole extends Inbox>(
  Class: new (...options: Options) => Inbox,
  names: readonly (keyof OfPostgres)[],
): new (...options: Options) => Whole {
  const Shown = class extends Class {
    override get [ENGINE](): InboxEngine {
      return this as unknown as InboxEngine
    }

    get maxTransactions(): number | undefined {
      return engineOf(this).maxTransactions
    }
  }
  for (const name of names) {
    const value = function (this: Inbox, ...given: unknown[]): unknown {
      const engine = engineOf(this)
      return Reflect.apply(engine[name] as () => unknown, engine, given)
    }
    Object.defineProperty(Shown.prototype, name, { value, configurable: true, writable: true })
  }
  Object.defineProperty(Shown, 'name', { value: Class.name })
  return Shown as unknown as new (...options: Options) => Whole
}

function engineOf(inbox: Inbox): InboxEngine {
  return Reflect.get(Inbox.prototype, ENGINE, inbox)
}
