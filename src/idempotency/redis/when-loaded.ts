import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { textProperty } from '../../base/foreign-value.js'

const PAUSE_MS = 100

/**
 * Runs the end of a claim again while the server reads its data after a restart, until the lease is over. Clients of the package
 * `redis` are already connected then and get an error. A callback whose end is not recorded would be handled again.
 * `leaseEndsAt`: by `performance.now()`.
 */
export async function whenLoaded<Reply>(run: () => Promise<Reply>, leaseEndsAt: number): Promise<Reply> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      const isLoading = textProperty(error, 'message')?.startsWith('LOADING') === true
      if (!isLoading || performance.now() + PAUSE_MS > leaseEndsAt) throw error
    }
    await delay(PAUSE_MS, undefined, { ref: false })
  }
}
