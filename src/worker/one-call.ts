import { setImmediate as nextTick } from 'node:timers/promises'

/** Until when requests are collected. */
type Collection = () => Promise<unknown>

/** Requests that are made without an await between them, such as for the entries of one claim. */
export const SAME_STEP: Collection = () => Promise.resolve()
export const SAME_TICK: Collection = () => nextTick()

/** Collects requests into one call. Each request resolves or rejects as that call does. */
export function inOneCall<Item, Result>(
  collected: Collection,
  call: (items: readonly Item[]) => Promise<Result>,
): (item: Item) => Promise<Result> {
  let items: Item[] = []
  let calling: Promise<Result> | undefined
  return (item) => {
    items.push(item)
    calling ??= collected().then(() => {
      const all = items
      items = []
      calling = undefined
      return call(all)
    })
    return calling
  }
}
