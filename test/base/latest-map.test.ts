import { LatestMap } from '../../src/base/latest-map.js'

it('keeps the entries that were set last, in the order in which they were set last', () => {
  const map = new LatestMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3)
  expect([...map]).toEqual([
    ['b', 2],
    ['a', 3],
  ])
  map.set('c', 4)
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ])
})
