import type { Attempt, AttemptState, Entry, InboxOperations } from '../../src/index.js'
import { equal } from './equal.js'

declare const operations: InboxOperations

const entry = await operations.show('1')
equal<Entry | undefined>()(entry)
const [attempt] = entry?.attemptHistory ?? []
equal<Attempt | undefined>()(attempt)
// A type of the same name in another file of the package would hide it.
equal<AttemptState | undefined>()(attempt?.result)
// @ts-expect-error an attempt has no such end
void (attempt?.result === 'completed')
