import { Agent, request } from 'node:http'
import type { SignedCallback } from '../../src/testing.js'
import { startProgram, untilPrinted } from './built-program.js'
import { genuine } from './running-receiver.js'

const AT_ONCE = 50

/** The statements of a program with a receiver of these options, for `startTwins`. */
export const receiverOfTwins = (options: string): string => `
  const receiver = createReceiver({ subscriptions: [subscription], logger: false, ${options} })
  const handled = []
  receiver.onAny(({ payload }) => void handled.push(payload.Id))
  await receiver.start()
  const server = http.createServer(receiver.requestListener())
  // A connection of the sender must not be closed just when it is used again, which is an error of the sender.
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => print(server.address().port))
  for await (const line of createInterface(process.stdin)) {
    await receiver.stop()
    print(JSON.stringify(handled))
    process.exit(0)
  }`

interface Twins {
  readonly ports: readonly number[]
  /** Ends both, and expects that they have handled the Ids from 0 once, each of them a part. */
  expectHandled(pairs: number): Promise<void>
}

/** Starts the program twice, with the address of the server that both use. */
export async function startTwins(program: string, server: string): Promise<Twins> {
  const programs = [1, 2].map(() => startProgram(process.execPath, [program, server]))
  await untilPrinted(programs, () => programs.every(({ lines }) => lines.length === 1))
  return {
    ports: programs.map(({ lines }) => Number(lines[0])),
    async expectHandled(pairs) {
      for (const { child } of programs) child.stdin.write('end\n')
      const outputs = await Promise.all(programs.map(({ ended }) => ended))
      const handled = outputs.map((lines) => JSON.parse(lines[1]!) as string[])
      expect(handled.map(({ length }) => length > pairs / 100)).toEqual([true, true])
      const ids = handled.flat().map(Number)
      expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: pairs }, (_, id) => id))
    },
  }
}

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
