import type { Environment } from '../base/environment.js'
import { nextTick } from '../base/next-tick.js'
import { textProperty } from '../base/foreign-value.js'

/** Until when requests are collected. */
type Collection = () => Promise<unknown>

/** Requests that are made without an await between them, such as for the entries of one claim. */
export const SAME_STEP: Collection = () => Promise.resolve()
export const sameTick =
  (environment: Environment): Collection =>
  () =>
    nextTick(environment)

/**
 * Collects requests into one call. Each request resolves or rejects as that call does. If it waited too long, as for a row
 * that somebody has locked, each request is made by itself, so that the others do not fail for it.
 */
export function inOneCall<Item, Result>(
  collected: Collection,
  call: (items: readonly Item[]) => Promise<Result>,
): (item: Item) => Promise<Result> {
  let collecting: { readonly items: Item[]; readonly result: Promise<Result> } | undefined
  const collect = () => {
    const items: Item[] = []
    const result = collected().then(() => {
      collecting = undefined
      return call(items)
    })
    return { items, result }
  }
  return (item) => {
    const { items, result } = (collecting ??= collect())
    items.push(item)
    return result.catch((error: unknown) => {
      if (items.length > 1 && textProperty(error, 'code') === 'ERR_INBOX_BUSY') return call([item])
      throw error
    })
  }
}
