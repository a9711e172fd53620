import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SignedCallback } from '../../src/testing.js'
import { startProgram } from '../support/inbox-program.js'
import { buildRedisProgram } from '../support/redis-program.js'
import { describeWithRedis, RedisServer } from '../support/redis-server.js'
import { genuine } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const PAIRS = 10_000
const AT_ONCE = 50

describeWithRedis('twins sent to two receivers at the same moment', () => {
  it('are each handled once, by one of them', async () => {
    const server = await RedisServer.start()
    const directory = mkdtempSync(join(tmpdir(), 'countersign-twins-'))
    const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
    const file = buildRedisProgram(
      directory,
      `const receiver = createReceiver({ subscriptions: [subscription], store, logger: false })
       const handled = []
       receiver.onAny(({ payload }) => void handled.push(payload.Id))
       await receiver.start()
       const server = http.createServer(receiver.requestListener())
       server.listen(0, '127.0.0.1', () => print(server.address().port))
       for await (const line of createInterface(process.stdin)) {
         print(JSON.stringify(handled))
         process.exit(0)
       }`,
    )
    const programs = [1, 2].map(() => startProgram(process.execPath, [file, server.url]))
    await until(() => programs.every(({ lines }) => lines.length === 1))
    const ports = programs.map(({ lines }) => Number(lines[0]))

    const answers: Record<string, number> = {}
    const sendTwins = async (index: number) => {
      const callback = genuine({ payload: { Id: String(index) } })
      // In turns, as the first to be sent often wins.
      const order = index % 2 === 0 ? ports : ports.toReversed()
      const pair = await Promise.all(order.map((port) => statusOf(agent, port, callback)))
      const answer = pair.sort((a, b) => a - b).join(' and ')
      answers[answer] = (answers[answer] ?? 0) + 1
    }
    let next = 0
    const sender = async () => {
      while (next < PAIRS) await sendTwins(next++)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, sender))

    for (const { child } of programs) child.stdin.write('end\n')
    const outputs = await Promise.all(programs.map(({ ended }) => ended))
    agent.destroy()
    await server.stop()
    rmSync(directory, { recursive: true })
    const handled = outputs.map((lines) => JSON.parse(lines[1]!) as string[])
    expect(handled.map(({ length }) => length > PAIRS / 100)).toEqual([true, true])
    const ids = handled.flat().map(Number)
    expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: PAIRS }, (_, i) => i))
    // 409 while the other was handling it, 200 when it had.
    expect(Object.keys(answers).every((answer) => ['200 and 200', '200 and 409'].includes(answer))).toBe(true)
  }, 300_000)
})

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
