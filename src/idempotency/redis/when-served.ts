import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { textProperty } from '../../base/foreign-value.js'

const PAUSE_MS = 100

/**
 * A server reads its data after a restart, a cluster moves the slot to another node, or another server takes over, to which the client
 * is about to connect. Clients of the package `redis` pass these replies on, and `ioredis` does so after some attempts. Both report redirections that do not end, by the same text.
 */
const PASSING = /^(?:LOADING|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|READONLY|Too many Cluster redirections)\b/

/**
 * Runs the end of a claim again while the server refuses it for a passing reason, until the lease is over. A callback whose end is
 * not recorded would be handled again. `leaseEndsAt`: by `performance.now()`.
 */
export async function whenServed<Reply>(run: () => Promise<Reply>, leaseEndsAt: number): Promise<Reply> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      const isPassing = PASSING.test(textProperty(error, 'message') ?? '')
      if (!isPassing || performance.now() + PAUSE_MS > leaseEndsAt) throw error
    }
    await delay(PAUSE_MS, undefined, { ref: false })
  }
}
