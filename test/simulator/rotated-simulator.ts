import type { ServiceSimulator } from '../../src/simulator/service-simulator.js'
import { subscription } from '../support/subscription.js'
import { runSimulator } from './running-simulator.js'

export const NEXT_SECRET = 'the-secret-after-next'
export const PREVIOUS_SECRET = 'the-secret-from-before'

/** A simulator whose subscription has had another secret before. */
export async function simulatorFor(port: number): Promise<ServiceSimulator> {
  const simulator = await runSimulator({ deliverTo: `http://127.0.0.1:${port}`, seed: 7 })
  const { secret } = subscription
  const added = simulator.subscribe({ ...subscription, secret: PREVIOUS_SECRET })
  simulator.rotateSecret(added, secret)
  return simulator
}
