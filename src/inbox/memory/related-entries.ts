import type { RelatedEntry } from '../operations.js'
import { signaturesOf, type MemoryEntry } from './memory-entry.js'

/** What an entry shares with another one; undefined if nothing. */
export function sharedBy(entry: MemoryEntry, other: MemoryEntry): RelatedEntry['shares'] | undefined {
  if (other === entry) return undefined
  const sharesKey = other.key === entry.key
  const signatures = signaturesOf(entry)
  const sharesSignature = signaturesOf(other).some((signature) => signatures.includes(signature))
  if (sharesKey && other.bodyHash === entry.bodyHash) return 'callback'
  if (sharesSignature) return 'signature'
  return sharesKey ? 'key' : undefined
}
