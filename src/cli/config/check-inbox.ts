import { existsSync } from 'node:fs'
import { CountersignError } from '../../errors.js'
import type { InboxStats } from '../../inbox/inbox.js'
import { NO_ENTRIES } from '../../inbox/no-entries.js'
import { stats } from '../../inbox/sqlite/operator.js'
import { readInboxFile } from '../../inbox/sqlite/read-inbox-file.js'
import type { Logger } from '../../logger.js'
import type { InboxSetting } from './inbox-setting.js'
import { table } from '../table.js'

/** How many entries the file holds; null where no file of ours would be used. */
export type InboxEntries = InboxStats | 'no file yet' | 'not readable' | null

/** Without making the file, or bringing it up to date: another receiver may be using it. */
export async function countEntries(inbox: InboxSetting, log: Logger): Promise<InboxEntries> {
  if (inbox.kind !== 'sqlite') return null
  const { file } = inbox.options
  if (!existsSync(file)) return 'no file yet'
  try {
    return (await readInboxFile(file, stats)) ?? NO_ENTRIES
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    log.warn({ code: error.code }, error.message)
    return 'not readable'
  }
}

export function readableEntries(entries: InboxEntries): string {
  if (entries === null) return ''
  if (typeof entries === 'string') return `  ${entries}\n`
  const { oldestUnfinished, ...counts } = entries
  const there = Object.entries(counts).filter(([, count]) => count > 0)
  if (there.length === 0) return '  nothing in it\n'
  const rows = there.map(([state, count]) => [`  ${state}`, count.toLocaleString('en')])
  const oldest = oldestUnfinished && `  the oldest unfinished one arrived ${oldestUnfinished.toISOString()}\n`
  return table(rows) + (oldest ?? '')
}
