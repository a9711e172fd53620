import { setImmediate } from 'node:timers/promises'

/** Resolves in the next turn of the event loop, also if a test replaces the timers of Node by fake ones later. */
export const nextTick: () => Promise<void> = setImmediate
