import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIFECYCLE_EVENT_NAMES } from '../../src/events/lifecycle-events.js'

test('docs/events.md lists each event, in the same order', () => {
  const page = readFileSync(join(__dirname, '../../docs/events.md'), 'utf8')
  const [, section] = /\n## Events\n(.*?)\nThe fields:/s.exec(page)!
  const names = [...section!.matchAll(/^- `(\w+)`: /gm)].map(([, name]) => name)
  expect(names).toEqual(LIFECYCLE_EVENT_NAMES)
})
