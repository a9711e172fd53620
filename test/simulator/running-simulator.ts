import { startServiceSimulator, type ServiceSimulator } from '../../src/simulator/service-simulator.js'
import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'

const running: ServiceSimulator[] = []
afterEach(() => Promise.all(running.splice(0).map((simulator) => simulator.close())))

/** A simulator that runs until the test is over. */
export async function runSimulator(options?: ServiceSimulatorOptions): Promise<ServiceSimulator> {
  const simulator = await startServiceSimulator({ logger: false, ...options })
  running.push(simulator)
  return simulator
}
