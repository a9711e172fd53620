import { nextTick } from 'node:process'

// Taken before the fake timers of a test can replace it: they would stop every callback.
const defer = nextTick

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Returns a function that takes one item. `run` gets all items of one event loop tick together, in their order, at the end of the
 * tick. A single item is therefore not delayed. If `run` rejects, all of its items are rejected.
 */
export function batched<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let open: Waiting<Item, Result>[] | undefined
  const begin = () => {
    const batch: Waiting<Item, Result>[] = []
    defer(() => {
      if (open === batch) open = undefined
      void carryOut(batch, run)
    })
    return batch
  }
  return (item) =>
    new Promise((resolve, reject) => {
      if (!open || open.length === MAX_ITEMS) open = begin()
      open.push({ item, resolve, reject })
    })
}

async function carryOut<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item))
    batch.forEach(({ resolve }, index) => resolve(results[index]!))
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

/** The server runs nothing else during a script. It takes about half a millisecond for this many claims. */
const MAX_ITEMS = 32
