import { collectedLog } from '../support/collected-log.js'
import { browse, runConsole, textOf } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const PAGE = 'The function “operator” of this application failed, or what it returned is not an operator.'

/** The page of a console whose operators come from this function, and the errors of its log. */
async function pageFor(operator: () => unknown) {
  const { inbox } = seededInbox()
  const log = collectedLog()
  const { get } = browse(await runConsole({ inbox, operator: operator as never, logger: log }))
  const answer = await get('./')
  return { status: answer.status, text: textOf(answer), errors: log.withCode('ERR_CONSOLE_FAILED') }
}

it.each([
  ['no name', { role: 'decide' }],
  ['an empty name', { name: ' ', role: 'decide' }],
  ['a name with a line feed', { name: 'a\nb', role: 'decide' }],
  ['a long name', { name: 'a'.repeat(101), role: 'decide' }],
  ['another role', { name: 'ada', role: 'admin' }],
  ['a text', 'ada'],
])(
  'nobody gets in when the application returns %s, and the page says whose fault it is',
  async (_, operator) => {
    const { status, text, errors } = await pageFor(() => operator)
    expect([status, text]).toEqual([503, expect.stringContaining(PAGE)])
    expect(text).not.toContain('inbox')
    expect(errors).toMatchObject([
      { fields: { err: { message: expect.stringContaining('return { name, role }') } } },
    ])
  },
)

it('an error of the application is in the log, and not on the page', async () => {
  const error = new Error('session store away')
  const { status, text, errors } = await pageFor(() => Promise.reject(error))
  expect([status, text]).toEqual([503, expect.stringContaining(PAGE)])
  expect(text).not.toContain('away')
  expect(errors).toMatchObject([{ fields: { err: error } }])
})
