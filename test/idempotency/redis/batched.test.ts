import { nextTick } from 'node:process'
import { batched } from '../../../src/idempotency/redis/batched.js'

function recording() {
  const batches: (readonly number[])[] = []
  const double = batched(async (items: readonly number[]) => {
    batches.push(items)
    if (items.includes(0)) throw new Error('zero')
    return items.map((item) => item * 2)
  })
  return { batches, double }
}

describe('batched', () => {
  it('carries out together what comes in one event loop tick, and answers each', async () => {
    const { batches, double } = recording()
    const afterPromise = Promise.resolve(3).then(double)
    expect(await Promise.all([double(1), double(2), afterPromise])).toEqual([2, 4, 6])
    expect(await double(4)).toBe(8)
    expect(batches).toEqual([[1, 2, 3], [4]])
  })

  it('begins in the tick in which the item came', async () => {
    const { batches, double } = recording()
    const doubled = double(1)
    expect(batches).toEqual([])
    await new Promise<void>((resolve) => nextTick(resolve))
    expect(batches).toEqual([[1]])
    await doubled
  })

  it('carries out at most 32 at a time, in their order', async () => {
    const { batches, double } = recording()
    const items = Array.from({ length: 70 }, (_, index) => index + 1)
    expect(await Promise.all(items.map(double))).toEqual(items.map((item) => item * 2))
    expect(batches).toEqual([items.slice(0, 32), items.slice(32, 64), items.slice(64)])
  })

  it('rejects all items of a batch that fails, and no later one', async () => {
    const { double } = recording()
    const failed = await Promise.allSettled([double(1), double(0)])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await double(1)).toBe(2)
  })
})
