import { isUtf8 } from 'node:buffer'
import { ownSubscriptionId } from '../../callback/callback.js'
import { withoutQuery } from '../../callback/subscriptions.js'
import { printable, printableJson, printableLines } from '../../base/printable.js'
import type {
  ActResult,
  Attempt,
  Entry,
  OperatorAction,
  OperatorRecord,
  RelatedEntry,
} from '../../inbox/operations.js'
import { MOVES, type InboxState } from '../../inbox/states.js'
import { MEANING } from '../views/advice.js'
import { entryHref } from '../views/entry-row.js'
import { jsonLayout } from '../views/json-layout.js'
import { durationText, numberText, timeView, type TimeView } from '../views/time.js'
import { download, html, type Answer } from '../answer.js'
import { messagePage } from './message.js'
import type { ConsoleParts, ReadPage, Visit } from '../page.js'

/** The page shows at most this many bytes of a body. The download has all of them. */
const MAX_SHOWN_BYTES = 65_536

export const entryPage: ReadPage = async (parts, visit) => {
  const id = visit.request.query.get('id') ?? ''
  const entry = await parts.operations.show(id)
  return entry ? showEntry(parts, visit, entry) : noEntry(parts, visit)
}

/** Answers with the bytes of the body, as they arrived. */
export const bodyDownload: ReadPage = async (parts, visit) => {
  if (!maySeeBody(parts, visit))
    return messagePage(parts, visit, 403, 'Not permitted', 'Your role does not permit you to see bodies.')
  const entry = await parts.operations.show(visit.request.query.get('id') ?? '')
  return entry ? download(entry.rawBody, 'body.bin') : noEntry(parts, visit)
}

export function noEntry(parts: ConsoleParts, visit: Visit): Answer {
  const text = 'There is no entry with this id. It may have been deleted after its retention time.'
  return messagePage(parts, visit, 404, 'No such entry', text)
}

/** Why a decision was not carried out. The page of the entry shows it. */
export interface Refusal {
  readonly status: 400 | 409
  readonly message: string
  readonly code?: Extract<ActResult, { done: false }>['code']
  readonly givenReason: string
}

export async function showEntry(
  parts: ConsoleParts,
  visit: Visit,
  entry: Entry,
  refusal?: Refusal,
): Promise<Answer> {
  const related = await parts.operations.related(entry.id)
  const { state, reason, attemptHistory, history } = entry
  const frame = { ...visit.frame, title: `Entry ${entry.id.slice(0, 40)}`, current: 'entries' }
  const decisions = visit.operator.role === 'decide' ? decisionsOn(entry) : []
  const view = {
    id: printable(entry.id),
    href: entryHref(entry.id),
    state,
    meaning: MEANING[state],
    reason: reason === undefined ? undefined : printable(reason),
    problem: refusal && printable(refusal.message),
    formToken: visit.formToken,
    seen: seenVersion(entry),
    givenReason: printable(refusal?.givenReason ?? ''),
    reasonRequired: parts.reasonRequired,
    offersAgain: refusal?.code === 'repeat' || state === 'handled',
    decisions,
    facts: factsOf(entry),
    attempts: attemptHistory.toReversed().map(attemptRow),
    history: history.toReversed().map(historyRow),
    related: related.map(relatedRow),
    headers: (entry.headers?.pairs ?? []).map(([name, value]) => ({
      name: printable(name),
      value: printable(value),
    })),
    headersAreCut: entry.headers?.isCut ?? false,
    payload: maySeeBody(parts, visit) ? bodyView(entry, visit) : undefined,
    noBody:
      parts.bodies === 'never'
        ? 'This console shows no bodies.'
        : 'Your role does not permit you to see bodies.',
  }
  return html(parts.renderer.page('entry', frame, view), refusal?.status)
}

/** A value that changes with every decision and every attempt. A form for an older version of the entry is refused. */
export function seenVersion({ state, history, attempts }: Entry): string {
  return `${state} ${history.length} ${attempts}`
}

function maySeeBody({ bodies }: ConsoleParts, { operator }: Visit): boolean {
  return bodies === 'view' || (bodies === 'decide' && operator.role === 'decide')
}

const DECISIONS = [
  { action: 'retry', text: 'Retry' },
  { action: 'release', text: 'Release' },
  { action: 'discard', text: 'Discard' },
] as const

function decisionsOn({ state, history }: Entry): { action: OperatorAction; text: string }[] {
  const possible = DECISIONS.filter(({ action }) => {
    const from: readonly InboxState[] = MOVES[action].from
    return from.includes(state)
  })
  const last = history.at(-1)
  // In another state than the one after the decision, a worker has claimed the entry since. A stored entry may also be unhandled.
  const canUndo = last && last.action !== 'undo' && (state === MOVES[last.action].to || state === 'unhandled')
  return [...possible, ...(canUndo ? [{ action: 'undo' as const, text: `Undo “${last.action}”` }] : [])]
}

interface Fact {
  readonly name: string
  readonly text?: string
  readonly at?: TimeView
  readonly isCode?: boolean
}

function factsOf(entry: Entry): Fact[] {
  const { subscription, bodyId, dueAt, finishedAt, copies, rawBody } = entry
  const fact = (name: string, text: string | undefined): Fact[] =>
    text === undefined ? [] : [{ name, text: printable(text), isCode: true }]
  const time = (name: string, at: Date | undefined): Fact[] => (at ? [{ name, at: timeView(at) }] : [])
  return [
    ...fact('Event type', entry.eventType),
    ...fact('Idempotency key', entry.idempotencyKey),
    ...fact('Id of the body', bodyId),
    // The default id contains the URL, and the query of a URL may contain a token.
    ...fact('Subscription', ownSubscriptionId(subscription)),
    ...fact('Description', subscription.description),
    ...fact('Callback URL', withoutQuery(subscription.callbackUrl)),
    ...time('Signed', entry.signedAt),
    ...time('Received', entry.receivedAt),
    ...time('Due', dueAt),
    ...time('Ended', finishedAt),
    { name: 'Exact copies that arrived later', text: numberText(copies) },
    { name: 'Size of the body', text: `${numberText(rawBody.length)} bytes` },
  ]
}

function attemptRow({ number, startedAt, endedAt, result, code = '', error = '' }: Attempt) {
  return {
    number,
    startedAt: timeView(startedAt),
    took: endedAt ? durationText(endedAt.getTime() - startedAt.getTime()) : '',
    result: result === 'handedBack' ? 'handed back' : result,
    code: printable(code),
    error: printableLines(error),
  }
}

function historyRow({ at, action, by, reason = '' }: OperatorRecord) {
  return { at: timeView(at), action, by: printable(by), reason: printable(reason) }
}

const SHARES: Readonly<Record<RelatedEntry['shares'], string>> = {
  callback: 'the same callback: key and body',
  signature: 'a signature',
  key: 'the idempotency key',
}

function relatedRow({ id, state, shares }: RelatedEntry) {
  return { id: printable(id), href: entryHref(id), state, shares: SHARES[shares] }
}

function bodyView({ id, rawBody }: Entry, { request }: Visit) {
  const isRaw = request.query.get('view') === 'raw'
  const shown = rawBody.subarray(0, MAX_SHOWN_BYTES)
  const text = shown.toString('utf8')
  const layout = isRaw || rawBody.length > MAX_SHOWN_BYTES || !isUtf8(rawBody) ? undefined : jsonLayout(text)
  const query = (more: Record<string, string>) => new URLSearchParams({ id, ...more }).toString()
  const note =
    (rawBody.length > MAX_SHOWN_BYTES &&
      `The first ${numberText(MAX_SHOWN_BYTES)} bytes. The download has the whole body.`) ||
    (!isRaw && layout === undefined && 'It is not JSON in UTF-8.') ||
    undefined
  return {
    text: layout === undefined ? printableLines(text) : printableJson(layout),
    note,
    views: [
      { text: 'JSON', href: `entry?${query({})}`, isCurrent: !isRaw },
      { text: 'Raw', href: `entry?${query({ view: 'raw' })}`, isCurrent: isRaw },
      { text: 'Download', href: `body?${query({})}`, isCurrent: false },
    ],
  }
}
