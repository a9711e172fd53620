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
  const entry = await parts.inbox.show(id)
  return entry ? showEntry(parts, visit, entry) : noEntry(parts, visit)
}

/** The parts of the page that can change while it is open. */
export const liveEntry: ReadPage = async (parts, visit) => {
  const { query } = visit.request
  const entry = await parts.inbox.show(query.get('id') ?? '')
  if (!entry) return html('', 404)
  const isChanged = query.get('seen') !== seenVersion(entry)
  const view = { ...(await liveView(parts, visit, entry)), isChanged }
  return html(parts.renderer.fragment('liveEntry', view))
}

/** Answers with the bytes of the body, as they arrived. */
export const bodyDownload: ReadPage = async (parts, visit) => {
  if (!maySeeBody(parts, visit))
    return messagePage(parts, visit, 403, 'Not permitted', 'Your role does not permit you to see bodies.')
  const entry = await parts.inbox.show(visit.request.query.get('id') ?? '')
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
  const title = `Entry ${entry.id.slice(0, 40)}`
  const frame = { ...visit.frame, title, current: 'entries', isLive: true }
  const view = {
    ...(await liveView(parts, visit, entry)),
    problem: refusal && printable(refusal.message),
    confirmed: refusal ? undefined : confirmedDecision(visit, entry),
    liveHref: `live/${entryHref(entry.id)}&${new URLSearchParams({ seen: seenVersion(entry) }).toString()}`,
    formToken: visit.formToken,
    seen: seenVersion(entry),
    givenReason: printable(refusal?.givenReason ?? ''),
    reasonRequired: parts.reasonRequired,
    offersAgain: refusal?.code === 'repeat' || entry.state === 'handled',
    decisions: mayDecide(visit) ? decisionsOn(entry) : [],
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

async function liveView({ inbox }: ConsoleParts, visit: Visit, entry: Entry) {
  const { id, state, reason, attemptHistory, history } = entry
  const related = await inbox.related(id)
  return {
    id: printable(id),
    href: entryHref(id),
    mayDecide: mayDecide(visit),
    state,
    meaning: MEANING[state],
    reason: reason === undefined ? undefined : printable(reason),
    facts: factsOf(entry),
    attempts: attemptHistory.toReversed().map(attemptRow),
    history: history.toReversed().map(historyRow),
    related: related.map(relatedRow),
  }
}

/** The address of an entry after a decision on it. The number of the decision makes the page confirm it. */
export function decidedHref({ id, history }: Entry): string {
  return `${entryHref(id)}&done=${history.length + 1}`
}

/** The decision that the address names, as the inbox has recorded it. An address confirms nothing that its reader has not done. */
function confirmedDecision({ request, operator }: Visit, { history }: Entry) {
  const record = history[Number(request.query.get('done')) - 1]
  return record?.by === operator.name ? historyRow(record) : undefined
}

function mayDecide({ operator }: Visit): boolean {
  return operator.role === 'decide'
}

/** A value that changes with every decision and every attempt. A form for an older version of the entry is refused. */
export function seenVersion({ state, history, attempts }: Entry): string {
  return `${state} ${history.length} ${attempts}`
}

function maySeeBody({ bodies }: ConsoleParts, visit: Visit): boolean {
  return bodies === 'view' || (bodies === 'decide' && mayDecide(visit))
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

/** What a state means for the operator, and what can be done. */
const MEANING: Readonly<Record<InboxState, string>> = {
  stored: 'It is stored, and a worker handles it next.',
  running: 'A worker handles it now.',
  retrying: 'Its handlers failed. A worker tries again later. Retry makes it try again now.',
  handled: 'All its handlers have succeeded. A retry handles it a second time.',
  dead: 'Its handlers failed, and it is not tried again. Remove the cause, then retry; or discard it if it must never be handled.',
  unhandled:
    'No worker has a handler for its event type. It is handled as soon as one is registered; or discard it if it must never be handled.',
  quarantined:
    'Its signature is valid, but something about it is suspect; see the reason. Compare it with the records of the service. Release it if it is genuine and was not handled before; otherwise discard it.',
  discarded: 'An operator decided that it is never handled.',
}
