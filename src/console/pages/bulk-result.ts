import type { ActResult, OperatorDecision } from '../../inbox/operations.js'
import type { MatchingResult } from '../../inbox/act-on-matching.js'
import { printable } from '../../base/printable.js'
import { html } from '../answer.js'
import { isSeal, sealOf } from '../form-token.js'
import { BULK_DECISIONS, bulkDecisionIn, countedEntries } from '../views/bulk-decisions.js'
import { hrefWith, listQuery, type ListQuery } from '../views/entry-filter.js'
import { entryHref } from '../views/entry-row.js'
import { numberText } from '../views/time.js'
import { messagePage } from './message.js'
import type { ReadPage, Visit } from '../page.js'

type Refusal = Extract<ActResult, { done: false }>['code']

/** Why a decision was not carried out for an entry. */
const WHY: Readonly<Record<Refusal, string>> = {
  changed: 'It has changed since the preview.',
  state: 'Its state does not allow the decision.',
  repeat: 'The callback would be handled a second time. The page of the entry permits that.',
  'not-found': 'It was deleted after its retention time.',
}
const REFUSALS = Object.keys(WHY) as Refusal[]

/** How many characters of an address the ids of entries may need, and how many the filter of the list. Servers limit addresses. */
const MAX_IDS_LENGTH = 4_000
const MAX_FILTER_LENGTH = 2_500
const SEAL = 'seal'

/**
 * The address of the page with the result of a decision. The result is in the address: the console keeps nothing, and any copy of the
 * application can show it. Only the browser of the operator can make the seal, so nobody can make a link that shows another result.
 */
export function bulkResultHref(
  { formToken }: Pick<Visit, 'formToken'>,
  action: OperatorDecision,
  { results, counts, failed }: MatchingResult,
  { parts }: Pick<ListQuery, 'parts'>,
): string {
  let room = MAX_IDS_LENGTH
  let left = 0
  const refused = REFUSALS.flatMap((code): [string, string][] => {
    const ids = results
      .filter((result) => !result.done && result.code === code)
      .map(({ id }) => encodeURIComponent(id))
      .filter((id) => {
        // A percent sign becomes three characters.
        room -= encodeURIComponent(id).length + 1
        if (room < 0) left++
        return room >= 0
      })
    return ids.length > 0 ? [[`not-${code}`, ids.join(' ')]] : []
  })
  const filter = hrefWith('', parts).length > MAX_FILTER_LENGTH ? [] : parts
  const query: [string, string][] = [
    ['action', action],
    ['done', String(counts.done)],
    ['failed', String(failed?.remaining.length ?? 0)],
    ['left', String(left)],
    ...refused,
  ]
  const href = hrefWith('decided', filter, query)
  return `${href}&${SEAL}=${sealOf(formToken, href)}`
}

/** The result of a decision on many entries. A reload shows it again, and decides nothing. */
export const bulkResult: ReadPage = async (parts, visit) => {
  const query = new URLSearchParams(visit.request.query)
  const seal = query.get(SEAL)
  query.delete(SEAL)
  const action = bulkDecisionIn(query)
  if (!action || !isSeal(seal, visit.formToken, hrefWith('decided', [...query]))) {
    const text = 'This result is shown only to the operator who decided, in the session of the decision.'
    return messagePage(parts, visit, 403, 'No such result', text)
  }
  const number = (name: string): number => Number(query.get(name))
  const { title, done } = BULK_DECISIONS[action]
  const frame = { ...visit.frame, title, current: 'entries' }
  const view = {
    title,
    summary: `${countedEntries(number('done'))} ${number('done') === 1 ? 'was' : 'were'} ${done}.`,
    problem:
      number('failed') > 0
        ? `The inbox failed. For ${countedEntries(number('failed'))} nothing was done, or it is not known. Look at the list again.`
        : undefined,
    refused: REFUSALS.flatMap((code) =>
      (query.get(`not-${code}`) ?? '')
        .split(' ')
        .filter(Boolean)
        .map((encoded) => {
          const id = decodeURIComponent(encoded)
          return { id: printable(id), href: entryHref(id), message: WHY[code] }
        }),
    ),
    left: number('left') > 0 ? `${numberText(number('left'))} more are not shown.` : undefined,
    backHref: hrefWith('entries', listQuery(query).parts),
  }
  return html(parts.renderer.page('decided', frame, view))
}
