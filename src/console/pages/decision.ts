import { reasonProblem } from '../decision-reason.js'
import { seeOther } from '../answer.js'
import { ACTIONS } from '../../inbox/operation-checks.js'
import type { SubmitPage } from '../page.js'
import { decidedHref, noEntry, seenVersion, showEntry } from './entry.js'

/** A decision on one entry. If it is not carried out, the page says why, and shows the entry as it is now. */
export const decideOnEntry: SubmitPage = async (parts, visit, fields) => {
  const id = visit.request.query.get('id') ?? ''
  const entry = await parts.inbox.show(id)
  if (!entry) return noEntry(parts, visit)
  const givenReason = fields.get('reason') ?? ''
  const refused = (status: 400 | 409, message: string) =>
    showEntry(parts, visit, entry, { status, message, givenReason })

  const action = ACTIONS.find((each) => each === fields.get('action'))
  if (!action) return refused(400, 'There is no such decision.')
  const reason = givenReason.trim() || undefined
  const problem = reasonProblem(reason, parts.reasonRequired)
  if (problem !== undefined) return refused(400, problem)
  // This check names the operator who decided meanwhile. The inbox compares with `entry` once more, in the step that decides.
  if (fields.get('seen') !== seenVersion(entry)) {
    const last = entry.history.at(-1)
    const who = last ? ` The latest decision is “${last.action}” by ${last.by}.` : ''
    return refused(
      409,
      `Nothing was done: the entry has changed since you opened it.${who} Look at it again.`,
    )
  }
  const again = fields.get('again') === 'yes'
  const result = await parts.inbox.act(id, action, visit.operator.name, {
    again,
    reason,
    expected: entry,
  })
  parts.reading.forget()
  if (result.done) return seeOther(decidedHref(entry))
  if (result.code === 'not-found') return noEntry(parts, visit)
  const now = (await parts.inbox.show(id)) ?? entry
  const message = `Nothing was done: ${result.message}.`
  return showEntry(parts, visit, now, { status: 409, message, code: result.code, givenReason })
}
