import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../support/built-program.js'
import { buildRedisProgram } from '../support/redis-program.js'
import { describeWithRedis, RedisServer } from '../support/redis-server.js'
import { sendTwins } from '../support/twins.js'
import { until } from '../support/until.js'

const PAIRS = 10_000

describeWithRedis('twins sent to two receivers at the same moment', () => {
  it('are each handled once, by one of them', async () => {
    const server = await RedisServer.start()
    const directory = mkdtempSync(join(tmpdir(), 'countersign-twins-'))
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

    const answers = await sendTwins(ports, PAIRS)

    for (const { child } of programs) child.stdin.write('end\n')
    const outputs = await Promise.all(programs.map(({ ended }) => ended))
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
