import type { ReadPage, SubmitPage } from '../page.js'
import { bulkDecision, bulkPreview } from './bulk-decision.js'
import { bulkResult } from './bulk-result.js'
import { decideOnEntry } from './decision.js'
import { entriesPage, liveEntries } from './entries.js'
import { bodyDownload, entryPage, liveEntry } from './entry.js'
import { liveOverview, liveWaiting, overviewPage, waitingChanges } from './overview.js'
import { liveRefused, refusedChanges, refusedPage } from './refused.js'

interface Page {
  readonly read: ReadPage
  /** Only for the role `decide`. */
  readonly submit?: SubmitPage
  /** Whether it is only for the role `decide` to read as well. */
  readonly isForDeciding?: true
}

/** The pages by their path below the mount path. Those below `/live` are polled by the page of the same name. */
export const PAGES: ReadonlyMap<string, Page> = new Map<string, Page>([
  ['/', { read: overviewPage }],
  ['/live/overview', { read: liveOverview }],
  ['/live/waiting', { read: liveWaiting }],
  ['/live/waiting-changes', { read: waitingChanges }],
  ['/entries', { read: entriesPage }],
  ['/live/entries', { read: liveEntries }],
  ['/entry', { read: entryPage, submit: decideOnEntry }],
  ['/live/entry', { read: liveEntry }],
  ['/body', { read: bodyDownload }],
  ['/decide', { read: bulkPreview, submit: bulkDecision, isForDeciding: true }],
  ['/decided', { read: bulkResult, isForDeciding: true }],
  ['/refused', { read: refusedPage }],
  ['/live/refused', { read: liveRefused }],
  ['/live/refused-changes', { read: refusedChanges }],
])
