import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MOVES } from '../../src/inbox/states.js'

it('docs/inbox.md has the moves of the code, in the same order', () => {
  const text = readFileSync(join(__dirname, '../../docs/inbox.md'), 'utf8')
  const rows = text.matchAll(/^\| (\w+) +\| ([a-z, ()]+?) +\| (\w+) +\| (worker|operator) +\|$/gm)
  const documented = [...rows].map(([, move, from, to, by]) => ({
    move,
    from: from!.replace(/ \(.*\)/, '').split(', '),
    to,
    by,
  }))
  expect(documented).toEqual(Object.entries(MOVES).map(([move, rest]) => ({ move, ...rest })))
})
