import { setImmediate as nextTick } from 'node:timers/promises'
import { Batches } from '../../../src/inbox/postgres/batches.js'
import { deferred } from '../../support/deferred.js'
import { until } from '../../support/until.js'

/** Batches of numbers, each of which ends when its promise is resolved. */
function numbers(patienceMs: number, limitMs = 60_000) {
  const runs: { items: readonly number[]; end: ReturnType<typeof deferred<void>> }[] = []
  const batches = new Batches<number, number>({
    run: async (items) => {
      const end = deferred<void>()
      runs.push({ items, end })
      await end.promise
      return items
    },
    isFault: () => true,
    bytesOf: () => 1,
    orderOf: () => undefined,
    patienceMs,
    limitMs,
    lateError: () => new Error('late'),
  })
  const add = (...items: number[]) => Promise.all(items.map((item) => batches.add(item)))
  return { runs, batches, add }
}

test('items that arrive while a batch is being carried out form one batch', async () => {
  const { runs, batches, add } = numbers(60_000)
  const adding = [add(1, 2)]
  await nextTick()
  adding.push(add(3))
  await nextTick()
  adding.push(add(4, 5))
  await nextTick()
  expect(runs.map(({ items }) => items)).toEqual([[1, 2]])
  runs[0]!.end.resolve()
  await until(() => runs.length === 2)
  expect(runs[1]!.items).toEqual([3, 4, 5])
  runs[1]!.end.resolve()
  expect(await Promise.all(adding)).toEqual([[1, 2], [3], [4, 5]])
  await batches.idle()
})

test('the next batch begins beside one that takes long, and a third one does not', async () => {
  const { runs, add } = numbers(1)
  const adding = [add(1)]
  await nextTick()
  adding.push(add(2))
  await until(() => runs.length === 2)
  adding.push(add(3))
  for (const { end } of runs) end.resolve()
  await until(() => runs.length === 3)
  expect(runs.map(({ items }) => items)).toEqual([[1], [2], [3]])
  runs[2]!.end.resolve()
  await Promise.all(adding)
})

test('a batch that is full begins beside another one at once', async () => {
  const { runs, batches, add } = numbers(60_000)
  const adding = [add(-1)]
  await nextTick()
  adding.push(add(...Array.from({ length: 300 }, (_, index) => index)))
  await nextTick()
  expect(runs.map(({ items }) => items.length)).toEqual([1, 256])
  for (const { end } of runs) end.resolve()
  await until(() => runs.length === 3)
  runs[2]!.end.resolve()
  await Promise.all(adding)
  await batches.idle()
})

test('an item that has waited for too long is refused, and later ones are carried out', async () => {
  const { runs, batches, add } = numbers(60_000, 1_000)
  const clock = jest.spyOn(performance, 'now')
  const at = (ms: number) => clock.mockReturnValue(ms)
  at(0)
  const first = add(1)
  await nextTick()
  const late = expect(add(2)).rejects.toThrow('late')
  at(1_000)
  const recent = add(3)
  await nextTick()
  at(1_001)
  runs[0]!.end.resolve()
  await late
  await first
  await nextTick()
  expect(runs.map(({ items }) => items)).toEqual([[1], [3]])
  runs[1]!.end.resolve()
  expect(await recent).toEqual([3])
  await batches.idle()
  clock.mockRestore()
})
