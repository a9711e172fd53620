import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildRedisProgram } from '../support/redis-program.js'
import { describeWithRedis, RedisServer } from '../support/redis-server.js'
import { receiverOfTwins, sendTwins, startTwins } from '../support/twins.js'

const PAIRS = 10_000

describeWithRedis('twins sent to two receivers at the same moment', () => {
  it('are each handled once, by one of them', async () => {
    const server = await RedisServer.start()
    const directory = mkdtempSync(join(tmpdir(), 'countersign-twins-'))
    const program = buildRedisProgram(directory, receiverOfTwins('store'))
    const { ports, expectHandled } = await startTwins(program, server.url)

    const answers = await sendTwins(ports, PAIRS)

    await expectHandled(PAIRS)
    await server.stop()
    rmSync(directory, { recursive: true })
    // 409 while the other was handling it, 200 when it had.
    expect(Object.keys(answers).every((answer) => ['200 and 200', '200 and 409'].includes(answer))).toBe(true)
  }, 300_000)
})
