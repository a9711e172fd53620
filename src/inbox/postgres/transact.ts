import type { ClaimEnd, ClaimToken, TransactOptions } from '../engine.js'
import { textProperty } from '../../base/foreign-value.js'
import { delay, type Environment } from '../../base/environment.js'
import { timer } from '../../base/timeout.js'
import { CountersignError } from '../../base/errors.js'
import type { Connection, Connections } from './connections.js'
import { rowId } from './entry-id.js'
import { inboxError, unreachableError } from './inbox-error.js'
import { settle } from './settle.js'
import { quoteIdentifier } from './sql-text.js'
import { guardedTransaction, type PostgresTransaction } from './guarded-transaction.js'
import { transactionControlError } from './transaction-control.js'
import { allOn, rollBack, setLocal, SYNCHRONOUS } from './transaction.js'

/** How a transaction ended: its end was recorded, the claim had been lost, or the handler chose an end that is recorded alone. */
type Transacted = 'committed' | 'lost' | { readonly recordAlone: ClaimEnd }

/** Runs `work` in a transaction that also completes the claim. See `InboxEngine`. */
export async function transact(
  connections: Connections,
  claim: ClaimToken,
  { timeoutMs }: TransactOptions,
  work: (transaction: PostgresTransaction) => Promise<ClaimEnd>,
): Promise<Transacted> {
  const { schema, busyTimeoutMs } = connections.options
  const id = rowId(claim.id)
  if (id === undefined) return 'lost'
  const connection = await connections.acquire()
  const guarded = guardedTransaction(connection.client)
  let xid: string | undefined
  try {
    xid = await begin(connection, timeoutMs)
    const end = await within(connections.environment, timeoutMs, work(guarded.transaction), guarded.close)
    guarded.close()
    if (end.move !== 'complete') {
      await connection.query('ROLLBACK')
      return { recordAlone: end }
    }
    await checkSameTransaction(connection, xid)
    // This comes last: a lock on the entry would keep its lease from being renewed while the handler runs.
    await connection.query(`SELECT ${setLocal({ statement_timeout: String(2 * busyTimeoutMs) })}`)
    const settled = await settle(allOn(connection), [{ claim, end }], connections.options)
    if (!settled) throw transactionControlError('what changed the isolation level')
    const { held } = settled.result
    if (held.size === 0) {
      await connection.query('ROLLBACK')
      return 'lost'
    }
    return await commit(connections, connection, { xid, id, token: claim.token })
  } catch (error) {
    guarded.close()
    // What this package throws says more than that the connection is lost.
    const isOwn = error instanceof CountersignError
    const reason = isOwn ? error : inboxError(connection.lost() ?? error, schema)
    if (connection.lost() || guarded.isQuerying()) {
      connection.destroy()
      await endAtServer(connections, xid)
    } else await rollBack(connection)
    throw reason
  } finally {
    guarded.close()
    if (guarded.hasChangedSession()) connection.destroy()
    connection.release()
  }
}

/**
 * Ends the session at the server, which would otherwise continue its query and hold the locks of the transaction until then.
 * No other session has a transaction with this number.
 */
async function endAtServer(connections: Connections, xid: string | undefined): Promise<void> {
  if (xid === undefined) return
  // If that fails, it ends later, by the time limit of the transaction at the server.
  await connections.use((connection) => connection.query(TERMINATE, [xid])).catch(() => {})
}

const TERMINATE =
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = $1::xid8::xid AND pid <> pg_backend_pid()'

/** Returns the number of the transaction. */
async function begin(connection: Connection, timeoutMs: number): Promise<string> {
  const limit = String(Math.ceil(timeoutMs))
  const results: unknown = await connection.query(
    'BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ' +
      `${setLocal({ statement_timeout: limit, idle_in_transaction_session_timeout: limit })}, ` +
      `${SYNCHRONOUS}, ${NOTICE_LOST_CLIENT}, pg_current_xact_id()::text AS xid`,
  )
  return (results as { rows: { xid: string }[] }[]).at(-1)!.rows[0]!.xid
}

/** While a query runs, the server looks whether its client is still there. Before version 14, or not on Linux, it cannot. */
const NOTICE_LOST_CLIENT =
  "CASE WHEN current_setting('client_connection_check_interval', true) IS NOT NULL AND version() LIKE '%linux%' " +
  "THEN set_config('client_connection_check_interval', '1000', true) END"

/** A procedure or a client library may have ended the transaction where no text of a query shows it. */
async function checkSameTransaction(connection: Connection, xid: string): Promise<void> {
  const { rows } = await connection.query<{ xid: string | null }>(
    'SELECT pg_current_xact_id_if_assigned()::text AS xid',
  )
  if (rows[0]!.xid !== xid) throw transactionControlError('what ended the transaction')
}

interface Committing {
  readonly xid: string
  readonly id: string
  readonly token: number
}

async function commit(
  connections: Connections,
  connection: Connection,
  committing: Committing,
): Promise<'committed'> {
  const { schema, busyTimeoutMs } = connections.options
  try {
    const answer = connection.query('COMMIT')
    const { command } = await within(connections.environment, 2 * busyTimeoutMs, answer, () =>
      connection.destroy(),
    )
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`)
    return 'committed'
  } catch (error) {
    // For example because of a constraint that is checked at the end: the server has answered. 57P01 and similar codes, and
    // 25P04 of transaction_timeout, mean the end of the connection, which is noticed a moment later.
    const isEnd = /^(?:57P|25P04)/.test(textProperty(error, 'code') ?? '')
    if (!connection.lost() && !isEnd) throw error
    if (await wasCommitted(connections, committing)) return 'committed'
    throw unreachableError(schema, 'the connection was lost at COMMIT, and nothing was committed', error)
  }
}

const CLAIMED = 'WHERE id = $1::bigint AND token = $2::integer'

/**
 * Asks on a new connection what became of the transaction. The server may not have noticed yet that the connection is lost, so
 * it is asked until it says so, for a while.
 */
async function wasCommitted(connections: Connections, { xid, id, token }: Committing): Promise<boolean> {
  const { environment } = connections
  const { schema, busyTimeoutMs } = connections.options
  const giveUpAt = environment.monotonic() + 4 * busyTimeoutMs
  const states = ['due', 'ended']
    .map((table) => `SELECT state FROM ${quoteIdentifier(schema)}.${table} ${CLAIMED}`)
    .join(' UNION ALL ')
  for (let delayMs = 10; ; delayMs = Math.min(500, delayMs * 2)) {
    try {
      const { status, state } = await connections.use(async (connection) => {
        const status = await statusOf(connection, xid)
        // Asked after the status: an end that was committed before it is seen.
        const { rows } = await connection.query<{ state: string }>(states, [id, token])
        return { status, state: rows[0]?.state }
      })
      if (state === 'handled') return true
      if (status === 'aborted' || status === null) return false
      // After a crash the server gives numbers anew: another transaction has this one.
      if (status === 'committed' && state === 'running') return false
    } catch (error) {
      if (textProperty(error, 'code') === 'ERR_CLOSED') throw error
    }
    if (environment.monotonic() > giveUpAt)
      throw unreachableError(schema, 'the connection was lost at COMMIT, and its result could not be learned')
    await delay(environment, delayMs)
  }
}

/** What the server knows of a transaction. Null: nothing any more. */
async function statusOf(connection: Connection, xid: string): Promise<string | null> {
  try {
    const { rows } = await connection.query<{ status: string | null }>(
      'SELECT pg_xact_status($1::xid8) AS status',
      [xid],
    )
    return rows[0]!.status
  } catch (error) {
    // The number is in the future: the server has crashed, and the transaction was not on its disk.
    if (textProperty(error, 'code') === '22023') return 'aborted'
    throw error
  }
}

function within<Value>(
  environment: Environment,
  limitMs: number,
  promise: Promise<Value>,
  onLate: () => void,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = timer(
      limitMs,
      () => {
        onLate()
        const message = `the transaction took longer than ${limitMs} ms, and was rolled back`
        reject(new CountersignError('ERR_HANDLER_TIMEOUT', message))
      },
      { environment },
    )
    promise.then(resolve, reject).finally(cancel)
  })
}
