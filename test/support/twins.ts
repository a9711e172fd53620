import { Agent, request } from 'node:http'
import type { SignedCallback } from '../../src/testing.js'
import { genuine } from './running-receiver.js'

const AT_ONCE = 50

/**
 * Sends the same callback to both ports at the same moment, for each Id from 0. Returns how often each pair of answers came,
 * such as `{ '200 and 409': 3 }`.
 */
export async function sendTwins(ports: readonly number[], pairs: number): Promise<Record<string, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const answers: Record<string, number> = {}
  let next = 0
  const sender = async () => {
    while (next < pairs) {
      const index = next++
      const callback = genuine({ payload: { Id: String(index) } })
      // In turns, as the first to be sent often wins.
      const order = index % 2 === 0 ? ports : ports.toReversed()
      const pair = await Promise.all(order.map((port) => statusOf(agent, port, callback)))
      const answer = pair.sort((a, b) => a - b).join(' and ')
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sender))
  agent.destroy()
  return answers
}

function statusOf(agent: Agent, port: number, { path, headers, body }: SignedCallback): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers: { ...headers } })
    sent.once('error', reject)
    sent.once('response', (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode!))
    })
    sent.end(body)
  })
}
