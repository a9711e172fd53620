import { actOnMatching, type MatchedEntry } from '../../inbox/act-on-matching.js'
import type { EntryId } from '../../callback/callback.js'
import type { EntryList } from '../../inbox/operations.js'
import type { InboxState } from '../../inbox/states.js'
import { reasonProblem } from '../decision-reason.js'
import { html, seeOther } from '../answer.js'
import { printable } from '../../base/printable.js'
import { BULK_DECISIONS, bulkDecisionIn, countedEntries, isBulkPossible } from '../views/bulk-decisions.js'
import { FILTER_FIELDS, hrefWith, listQuery, type ListQuery } from '../views/entry-filter.js'
import { entryRow } from '../views/entry-row.js'
import { numberText } from '../views/time.js'
import { bulkResultHref } from './bulk-result.js'
import { messagePage } from './message.js'
import type { ConsoleParts, ReadPage, SubmitPage } from '../page.js'

/** How many entries one form can decide on at most. The form contains their ids. */
const MAX_ENTRIES = 500
/** How many of them the preview shows. */
const SHOWN = 50
/** How far the preview counts. */
const MAX_COUNT = 10_000

/**
 * The preview: how many entries match, and which ones. The form has their ids and what attempts and decisions change in
 * them, so that entries that arrive or change after the preview are not decided on. One search examines a bounded number of
 * entries. If it ends before the form is full, the page has a link that continues it.
 */
export const bulkPreview: ReadPage = async (parts, visit) => {
  const { query } = visit.request
  const list = listQuery(query)
  const action = bulkDecisionIn(query)
  if (!action || !isBulkPossible(action, list)) {
    const text = 'Choose states in which the decision is possible, then choose the decision in the list.'
    return messagePage(parts, visit, 400, 'No such decision', text)
  }
  const from = query.get('from') ?? undefined
  const found = await parts.inbox.list(list.filter, { afterId: from, limit: MAX_ENTRIES })
  const { entries, next } = found
  const isFull = entries.length === MAX_ENTRIES
  const { title, verb } = BULK_DECISIONS[action]
  const shown = entries.length > SHOWN ? ` The ${SHOWN} oldest are shown.` : ''
  const summary = isFull && from === undefined ? await countedText(parts, list) : foundText(found, from)
  const frame = { ...visit.frame, title, current: 'entries' }
  return html(
    parts.renderer.page('decide', frame, {
      title,
      summary: `${summary}${shown}`,
      furtherHref:
        next === undefined || isFull
          ? undefined
          : hrefWith('decide', list.parts, [
              ['action', action],
              ['from', next],
            ]),
      filter: filterParts(list),
      rows: entries.slice(0, SHOWN).map(entryRow),
      formToken: visit.formToken,
      action,
      entries: entries.map(seenText).join(' '),
      backHref: hrefWith('entries', list.parts),
      reasonRequired: parts.reasonRequired,
      confirm: `${verb} ${countedEntries(entries.length)}`,
    }),
  )
}

/** The summary of a form that is full. */
async function countedText({ inbox }: ConsoleParts, { filter }: ListQuery): Promise<string> {
  const { count, more } = await inbox.count(filter, MAX_COUNT)
  const total = `${more ? 'At least ' : ''}${numberText(count)} entries match.`
  if (count === MAX_ENTRIES && !more) return total
  return `${total} This decision is for the ${numberText(MAX_ENTRIES)} oldest. Repeat it for the others.`
}

/** The summary of a form that is not full, or that continues a search. */
function foundText({ entries, next }: EntryList, from: EntryId | undefined): string {
  const { length } = entries
  const further = from === undefined ? '' : 'further '
  if (next === undefined)
    return `${numberText(length)} ${further}${length === 1 ? 'entry matches' : 'entries match'}.`
  const isFull = length === MAX_ENTRIES
  const number = length === 0 ? 'No' : `${isFull ? 'At least ' : ''}${numberText(length)}`
  const found = `${number} ${further}${length === 1 ? 'entry was' : 'entries were'} found so far.`
  if (isFull) return `${found} This decision is for these ${numberText(length)}.`
  return `${found} The search was ended before it had examined all entries.`
}

/** Decides on the entries of the preview. `again` is never set. */
export const bulkDecision: SubmitPage = async (parts, visit, fields) => {
  const action = bulkDecisionIn(fields)
  const seen = seenIn(fields)
  if (!action || seen === undefined)
    return messagePage(
      parts,
      visit,
      400,
      'No such decision',
      'The form is not complete. Open the preview again.',
    )
  const reason = fields.get('reason')?.trim() || undefined
  const problem = reasonProblem(reason, parts.reasonRequired)
  if (problem !== undefined) return messagePage(parts, visit, 400, 'Not done', problem)
  const by = visit.operator.name
  const result = await actOnMatching(parts.inbox, seen, action, by, { reason })
  parts.reading.forget()
  const { failed } = result
  if (failed)
    parts.logger.error({ code: 'ERR_CONSOLE_FAILED', err: failed.error }, 'a decision was not completed')
  return seeOther(bulkResultHref(visit, action, result, listIn(fields)))
}

/** An entry of the preview, as the form has it: state, attempts, time of the end and id. */
function seenText({ id, state, attempts, finishedAt }: MatchedEntry): string {
  return `${state}/${attempts}/${finishedAt?.getTime() ?? ''}/${encodeURIComponent(id)}`
}

const SEEN = /^([a-z]+)\/(\d{1,9})\/(\d{0,15})\/([^/]+)$/

/** The entries of the preview; undefined if the form is not one of this console. */
function seenIn(fields: URLSearchParams): MatchedEntry[] | undefined {
  const listed = (fields.get('entries') ?? '').split(' ').filter(Boolean)
  if (listed.length === 0 || listed.length > MAX_ENTRIES) return undefined
  try {
    return listed.map((text) => {
      const [, state, attempts, finishedAt, id] = SEEN.exec(text)!
      return {
        id: decodeURIComponent(id!),
        state: state as InboxState,
        attempts: Number(attempts),
        finishedAt: finishedAt === '' ? undefined : new Date(Number(finishedAt)),
      }
    })
  } catch {
    return undefined
  }
}

/** The list that the decision began at. Only its filter is taken from the form. */
function listIn(fields: URLSearchParams): ListQuery {
  return listQuery(new URLSearchParams(/^entries\?(.*)/s.exec(fields.get('back') ?? '')?.[1] ?? ''))
}

function filterParts({ parts }: ListQuery): { name: string; text: string }[] {
  return parts.map(([name, value]) => ({
    name: FILTER_FIELDS.find((field) => field.name === name)?.label ?? 'State',
    text: printable(value),
  }))
}
