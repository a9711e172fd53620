import { performance } from 'node:perf_hooks'

/** A clock in milliseconds that is never set. */
export const monotonic = (): number => performance.now()
