import { widthOf } from '../../src/cli/table.js'
import { guardedOutput } from '../../src/cli/io.js'

it.each([
  [undefined, 100],
  [0, 100],
  [72, 72],
])('takes a terminal of %s columns as one of %d', (columns, width) => {
  expect(widthOf(guardedOutput({ write: () => true, columns }))).toBe(width)
})
