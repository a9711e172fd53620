import { Eta } from 'eta'
import type { Assets } from './assets/assets.js'
import type { Operator } from './operator.js'
import { DECIDE, DECIDED } from './templates/decide.js'
import { ENTRIES, ENTRY_TABLE, LIVE_ENTRIES } from './templates/entries.js'
import { ENTRY, ENTRY_HEAD, ENTRY_RECORDS, LIVE_ENTRY } from './templates/entry.js'
import { LAYOUT, MESSAGE, STATE, TIME } from './templates/layout.js'
import {
  LIVE_OVERVIEW,
  LIVE_SECRETS,
  OVERVIEW,
  SECRETS,
  WAITING,
  WAITING_CHANGES,
} from './templates/overview.js'
import { LIVE_REFUSED, REFUSED, REFUSED_CHANGES } from './templates/refused.js'
import { SIGN_IN } from './templates/sign-in.js'

const TEMPLATES = {
  layout: LAYOUT,
  message: MESSAGE,
  time: TIME,
  state: STATE,
  overview: OVERVIEW,
  liveOverview: LIVE_OVERVIEW,
  secrets: SECRETS,
  liveSecrets: LIVE_SECRETS,
  waiting: WAITING,
  waitingChanges: WAITING_CHANGES,
  entryTable: ENTRY_TABLE,
  entries: ENTRIES,
  liveEntries: LIVE_ENTRIES,
  entry: ENTRY,
  entryHead: ENTRY_HEAD,
  entryRecords: ENTRY_RECORDS,
  liveEntry: LIVE_ENTRY,
  decide: DECIDE,
  decided: DECIDED,
  refused: REFUSED,
  liveRefused: LIVE_REFUSED,
  refusedChanges: REFUSED_CHANGES,
  signIn: SIGN_IN,
} as const

type TemplateName = keyof typeof TEMPLATES

/** Values for the layout around the content of a page. */
export interface Frame {
  readonly title: string
  /** The mount path, relative to the address of the page. @default '', for all pages beside the overview */
  readonly root?: string
  readonly operator?: Operator | undefined
  /** The token of the sign-out form. Undefined if the operator cannot sign out. */
  readonly token?: string | undefined
  readonly current?: string | undefined
  readonly hasChart?: boolean
  readonly isLive?: boolean
}

const PAGES = [
  { href: './', text: 'Overview' },
  { href: 'entries', text: 'Entries' },
  { href: 'refused', text: 'Refused' },
]

/** Renders pages. Every value is escaped, except the output of another template, which is escaped already. */
export class Renderer {
  readonly #eta = new Eta({ autoEscape: true })
  readonly #paths: Assets['paths']

  constructor(paths: Assets['paths']) {
    this.#paths = paths
    for (const [name, text] of Object.entries(TEMPLATES)) this.#eta.loadTemplate(`@${name}`, text)
  }

  page(name: TemplateName, frame: Frame, view: object): string {
    const links = PAGES.map((link) => ({ ...link, isCurrent: link.href === frame.current }))
    const defaults = { root: '', operator: undefined, token: undefined, hasChart: false, isLive: false }
    return this.#eta.render(`@${name}`, {
      ...view,
      frame: { ...defaults, ...frame, links, paths: this.#paths },
    })
  }

  fragment(name: TemplateName, view: object): string {
    return this.#eta.render(`@${name}`, view)
  }
}
