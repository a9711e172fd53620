import { property, textProperty } from '../../base/foreign-value.js'
import type { PostgresClient } from './driver.js'
import { changesSession, refuseTransactionControl, transactionControlError } from './transaction-control.js'

/**
 * A client of `pg` inside a transaction. It takes what `client.query` of `pg` takes, so that Drizzle, Knex and others can use
 * it. Queries that would end the transaction are refused with `ERR_TRANSACTION_CONTROL`.
 */
export interface PostgresTransaction {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the result of pg, whose rows have the types of the query
  query(query: string | object, ...more: any[]): Promise<any>
}

interface GuardedTransaction {
  readonly transaction: PostgresTransaction
  /** From then on queries are refused. */
  readonly close: () => void
  /** Whether the server may still be running a query of the handler. */
  readonly isQuerying: () => boolean
  /** Whether the session may not be as it was, so that nobody else should get the connection. */
  readonly hasChangedSession: () => boolean
}

/** What a handler is given of the client. */
export function guardedTransaction(client: PostgresClient): GuardedTransaction {
  let isClosed = false
  let queries = 0
  let hasChangedSession = false
  const ended = () => void queries--
  const send = (given: string | object, more: unknown[]): Promise<unknown> => {
    queries++
    const callback = more.at(-1)
    if (typeof callback === 'function') {
      const onResult = (...result: unknown[]) => {
        ended()
        Reflect.apply(callback, undefined, result)
      }
      return Reflect.apply(client.query, client, [given, ...more.slice(0, -1), onResult])
    }
    const result: unknown = Reflect.apply(client.query, client, [given, ...more])
    // A cursor or a stream does not tell: it counts as running.
    if (result instanceof Promise) result.then(ended, ended)
    return result as Promise<unknown>
  }
  const query = (given: string | object, ...more: unknown[]): Promise<unknown> => {
    const text = textOf(given)
    const refusal = refusalOf(text, isClosed)
    if (refusal === undefined) {
      hasChangedSession ||= changesSession(text!)
      return send(given, more)
    }
    const callback = more.at(-1)
    if (typeof callback !== 'function') return Promise.reject(refusal)
    queueMicrotask(() => Reflect.apply(callback, undefined, [refusal]))
    return Promise.resolve()
  }
  return {
    transaction: { query },
    close: () => void (isClosed = true),
    isQuerying: () => queries > 0,
    hasChangedSession: () => hasChangedSession,
  }
}

/** A cursor or a stream of pg has its text one level down. */
function textOf(given: string | object): string | undefined {
  if (typeof given === 'string') return given
  return textProperty(given, 'text') ?? textProperty(property(given, 'cursor'), 'text')
}

function refusalOf(text: string | undefined, isClosed: boolean): Error | undefined {
  if (isClosed) return transactionControlError('a query after the end of the handler')
  if (text === undefined) return transactionControlError('a query without a text')
  try {
    refuseTransactionControl(text)
    return undefined
  } catch (error) {
    return error as Error
  }
}
