import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DOCTOR_FINDINGS } from '../../src/diagnosis/doctor/findings.js'

const page = readFileSync(join(__dirname, '../../docs/doctor.md'), 'utf8')
const sections = page.split(/^### /m).slice(1)

test('docs/doctor.md has a section for every finding, and for no other', () => {
  const documented = sections.map((section) => /^`(.*)`\n/.exec(section)?.[1])
  expect(documented).toEqual(Object.keys(DOCTOR_FINDINGS))
})

test.each(Object.entries(DOCTOR_FINDINGS))(
  'the section of %s says what happened and what to do',
  (name, { message, cure, severity }) => {
    const section = sections.find((each) => each.startsWith(`\`${name}\``))
    expect(section).toContain(message)
    expect(section).toContain(`What to do: ${cure}`)
    expect(section?.includes('This is a note.')).toBe(severity === 'note')
  },
)
