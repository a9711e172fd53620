import { setImmediate as nextTick } from 'node:timers/promises'

/** Lets the event loop turn so often that whatever can happen without a timer has happened. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTick()
}
