import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CAUSES } from '../../src/diagnosis/index.js'

const page = readFileSync(join(__dirname, '../../docs/diagnosis.md'), 'utf8')
const sections = page.split(/^#+ /m).filter((section) => section.startsWith('`'))

test('docs/diagnosis.md has a heading for every cause, and for no other', () => {
  const documented = sections.map((section) => /^`(.*)`\n/.exec(section)?.[1])
  expect(documented).toEqual(expect.arrayContaining(Object.keys(CAUSES)))
  expect(documented).toHaveLength(Object.keys(CAUSES).length)
})

test.each(Object.entries(CAUSES))(
  'the section of %s says what happened and what to do',
  (cause, { message, cure }) => {
    const section = sections.find((each) => each.startsWith(`\`${cause}\``))
    expect(section).toContain(message)
    expect(section).toContain(`What to do: ${cure}`)
  },
)
