import { performance } from 'node:perf_hooks'

/** Measures what a synchronous search costs. */
export interface ProcessorTimer {
  /** Milliseconds of processor time since the start. */
  usedMs(): number
  /** Whether more than this was used. Takes much less time than `usedMs` while the wall clock has not reached the limit. */
  exceeds(limitMs: number): boolean
}

/** A part of Node's `process`. `threadCpuUsage` exists since Node 22.19 and 23.9. */
type Usage = Pick<NodeJS.Process, 'cpuUsage'> & { readonly threadCpuUsage?: NodeJS.Process['cpuUsage'] }

/**
 * Starts to measure the processor time of this thread. Elapsed time would count other programs of a busy machine. In Node
 * versions without `threadCpuUsage`, the result is the time of the process or the elapsed time, whichever is less: neither
 * can be less than the time of the thread.
 */
export function startProcessorTimer(usage: Usage = process, now = () => performance.now()): ProcessorTimer {
  const microseconds = () => {
    const { user, system } = usage.threadCpuUsage?.() ?? usage.cpuUsage()
    return user + system
  }
  const [startedAt, start] = [now(), microseconds()]
  const usedMs = () => Math.min(now() - startedAt, (microseconds() - start) / 1000)
  return { usedMs, exceeds: (limitMs) => now() - startedAt > limitMs && usedMs() > limitMs }
}
