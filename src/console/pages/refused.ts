import { OUTCOMES } from '../../callback/outcomes.js'
import { hrefWith } from '../views/entry-filter.js'
import { numberText, timeView } from '../views/time.js'
import { html } from '../answer.js'
import type { ReadPage } from '../page.js'
import type { ProcessActivity } from '../process-activity.js'

export const refusedPage: ReadPage = async ({ activity, renderer }, visit) => {
  const frame = {
    ...visit.frame,
    title: 'Refused requests',
    current: 'refused',
    isLive: activity !== undefined,
  }
  return html(
    renderer.page('refused', frame, {
      live: activity && liveView(activity),
      changesHref: activity && hrefWith('live/refused-changes', [['shown', listsVersion(activity)]]),
      causes: (activity?.causes ?? []).map(({ at, count, cause, togetherWith, certainty, cure }) => ({
        count: numberText(count),
        at: timeView(new Date(at)),
        cause: togetherWith === undefined ? cause : `${cause}, ${togetherWith}`,
        certainty,
        cure,
      })),
      latest: (activity?.latest ?? []).map(({ at, code, status, idempotencyKey = '', eventType = '' }) => ({
        at: timeView(new Date(at)),
        code,
        status,
        idempotencyKey,
        eventType,
      })),
    }),
  )
}

export const liveRefused: ReadPage = async ({ activity, renderer }) =>
  html(activity ? renderer.fragment('liveRefused', liveView(activity)) : '')

/** Whether the lists of a page lack a request or a cause. */
export const refusedChanges: ReadPage = async ({ activity, renderer }, { request }) => {
  const isChanged = activity !== undefined && listsVersion(activity) !== request.query.get('shown')
  return html(renderer.fragment('refusedChanges', { isChanged }))
}

/** A value that changes with each refused request and with each cause that is found. */
function listsVersion({ refusals, causes }: ProcessActivity): string {
  const refused = refusals.reduce((sum, { total }) => sum + total, 0)
  const found = causes.reduce((sum, { count }) => sum + count, 0)
  return `${refused} ${found}`
}

function liveView(activity: ProcessActivity) {
  return {
    since: timeView(new Date(activity.since)),
    counts: activity.refusals.map(({ code, total, lastHour, lastAt }) => ({
      code,
      total: numberText(total),
      lastHour: numberText(lastHour),
      lastAt: timeView(new Date(lastAt)),
      reason: OUTCOMES[code].reason,
    })),
  }
}
