import { createHash } from 'node:crypto'
import { storedText } from './sql-text.js'

/** 64 bits of a hash of a text, in decimal digits. They stand for it in the narrow tables. */
export function textKey(text: string): string {
  return createHash('sha256').update(text).digest().readBigInt64BE().toString()
}

/** What workers and entries are matched by. */
export function typeKey(eventType: string): string {
  return textKey(storedText(eventType))
}
