import { createHash } from 'node:crypto'
import type { EntrySummary } from '../../inbox/operations.js'
import { durationText, numberText, timeView, type TimeView } from '../views/time.js'
import { entryRow } from '../views/entry-row.js'
import { hrefWith, NEEDS_DECISION, STATE_ORDER } from '../views/entry-filter.js'
import { html } from '../answer.js'
import type { ConsoleParts, ReadPage, Visit } from '../page.js'

const HOUR_MS = 3_600_000

/** The periods of the chart. Each has 48 to 60 bars. */
const RANGES = {
  hour: { text: 'Hour', rangeText: 'last hour', ms: HOUR_MS, bucketMs: 60_000 },
  day: { text: 'Day', rangeText: 'last day', ms: 24 * HOUR_MS, bucketMs: HOUR_MS / 2 },
  week: { text: 'Week', rangeText: 'last week', ms: 7 * 24 * HOUR_MS, bucketMs: 3 * HOUR_MS },
} as const

type RangeName = keyof typeof RANGES

/** In the order in which the chart stacks them. */
const OUTCOMES = ['handled', 'discarded', 'quarantined', 'dead'] as const

export const overviewPage: ReadPage = async (parts, visit) => {
  const range = rangeIn(visit)
  const [live, waiting] = await Promise.all([liveView(parts, range), waitingView(parts)])
  const frame = { ...visit.frame, title: 'Overview', current: './', hasChart: true, isLive: true }
  const secrets = secretsView(parts)
  return html(parts.renderer.page('overview', frame, { range, live, waiting, secrets }))
}

export const liveOverview: ReadPage = async (parts, visit) => {
  const live = parts.renderer.fragment('liveOverview', await liveView(parts, rangeIn(visit)))
  return html(live + parts.renderer.fragment('liveSecrets', secretsView(parts)))
}

/** The list alone. A page asks for it until it is there, and after that when the operator wants to see its changes. */
export const liveWaiting: ReadPage = async (parts) =>
  html(parts.renderer.fragment('waiting', await waitingView(parts)))

/** Whether the list has changed since the page was rendered. */
export const waitingChanges: ReadPage = async ({ reading, renderer }, { request }) => {
  const entries = await reading.waiting()
  const isChanged = entries !== undefined && listVersion(entries) !== request.query.get('shown')
  return html(renderer.fragment('waitingChanges', { isChanged }))
}

function secretsView({ activity }: ConsoleParts) {
  return {
    secrets: (activity?.secrets ?? []).map(({ fingerprint, eventType, at }) => ({
      fingerprint,
      eventType,
      at: timeView(new Date(at)),
    })),
    noSecrets: activity
      ? 'No callback was verified by this process since it started.'
      : 'The console of this process sees only the inbox. The receivers know which secrets they used.',
  }
}

async function waitingView({ reading }: ConsoleParts) {
  const entries = await reading.waiting()
  return {
    rows: entries?.map(entryRow),
    changesHref: entries && hrefWith('live/waiting-changes', [['shown', listVersion(entries)]]),
  }
}

/** A value that changes with the entries of a list, their states and their attempts. */
function listVersion(entries: readonly EntrySummary[]): string {
  const shown = entries.map(({ id, state, attempts }) => [id, state, attempts])
  return createHash('sha256').update(JSON.stringify(shown)).digest('base64url')
}

function rangeIn({ request }: Visit): RangeName {
  const name = request.query.get('range')
  return name === 'day' || name === 'week' ? name : 'hour'
}

async function liveView({ reading, activity, clock }: ConsoleParts, range: RangeName) {
  const { ms, bucketMs, rangeText } = RANGES[range]
  const now = clock()
  // Bars begin at multiples of their length since 1970, so that they keep their positions when the page is updated.
  const to = Math.ceil((now + 1) / bucketMs) * bucketMs
  const [stats, buckets] = await Promise.all([
    reading.stats(),
    reading.activity({ from: to - ms, to, bucketMs }),
  ])
  const oldestUnfinished = stats?.oldestUnfinishedAt
  return {
    range,
    isCounting: stats === undefined || buckets === undefined,
    tiles: STATE_ORDER.map((state) => ({
      state,
      count: stats ? numberText(stats.counts[state]) : '…',
      href: `entries?state=${state}`,
      needsDecision: stats !== undefined && stats.counts[state] > 0 && NEEDS_DECISION.includes(state),
    })),
    hasOldest: stats !== undefined,
    oldest: oldestUnfinished && {
      age: durationText(now - oldestUnfinished.getTime()),
      at: timeView(oldestUnfinished),
    },
    clock: clockText(activity),
    rangeText,
    ranges: Object.entries(RANGES).map(([name, { text }]) => ({
      text,
      href: `./?range=${name}`,
      isCurrent: name === range,
    })),
    bucketS: bucketMs / 1_000,
    outcomes: OUTCOMES,
    rows: buckets?.map((bucket): { at: TimeView; counts: number[] } => ({
      at: timeView(bucket.at),
      counts: OUTCOMES.map((outcome) => bucket[outcome]),
    })),
  }
}

function clockText(activity: ConsoleParts['activity']): string {
  if (!activity) return 'not known to a console that has only an inbox'
  const { skewMs } = activity
  if (skewMs === undefined) return 'not known: no callback was verified in the last minutes'
  // The service signs whole seconds, and a delivery takes time.
  if (Math.abs(skewMs) < 2_000) return 'agrees with the clock of the service'
  return skewMs > 0
    ? `at most ${durationText(skewMs)} ahead of the clock of the service`
    : `at least ${durationText(-skewMs)} behind the clock of the service`
}
