import { setImmediate } from 'node:timers/promises'

/** Resolves in the next turn of the event loop. Kept, because a test may replace the timers of Node by fake ones. */
export const nextTick: () => Promise<void> = setImmediate
