import { existsSync } from 'node:fs'
import type { InboxStats } from '../../inbox/inbox.js'
import { NO_ENTRIES } from '../../inbox/no-entries.js'
import { stats } from '../../inbox/sqlite/operator.js'
import { probeInboxFile } from '../../inbox/sqlite/probe-inbox-file.js'
import { readInboxFile } from '../../inbox/sqlite/read-inbox-file.js'
import type { InboxSetting } from './inbox-setting.js'
import { table } from '../table.js'

/** The number of entries in the file; null if serve would not use a file of SqliteInbox. */
export type InboxEntries = InboxStats | 'no file yet' | 'not readable' | null

/**
 * Checks whether the inbox can be used, and counts its entries. It neither creates nor migrates the file, because
 * another receiver may be using it.
 * @throws CountersignError the same as the start of the receiver
 */
export async function checkInbox(inbox: InboxSetting): Promise<InboxEntries> {
  if (inbox.kind !== 'sqlite') return null
  const { file } = inbox.options
  await probeInboxFile(file)
  if (!existsSync(file)) return 'no file yet'
  return (await readInboxFile(file, stats)) ?? NO_ENTRIES
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
