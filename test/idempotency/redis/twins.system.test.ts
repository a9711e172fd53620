import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram, untilPrinted } from '../../support/built-program.js'
import { buildRedisProgram } from '../../support/redis-program.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'

const PAIRS = 1_000

describeWithRedis('twins that reach two processes at the same moment', () => {
  let server: RedisServer
  let directory: string
  beforeAll(async () => {
    server = await RedisServer.start()
    directory = mkdtempSync(join(tmpdir(), 'countersign-twins-'))
  })
  afterAll(async () => {
    await server.stop()
    rmSync(directory, { recursive: true })
  })

  it('are each claimed once', async () => {
    const file = buildRedisProgram(
      directory,
      `print('ready')
       for await (const round of createInterface(process.stdin)) {
         const claimed = []
         await Promise.all(Array.from({ length: ${PAIRS} }, async (_, i) => {
           const twin = round + ' ' + i
           const result = await store.claim({
             key: twin, bodyHash: digest('body ' + twin), signature: digest('signature ' + twin), leaseMs: 60_000,
           })
           if (result.state === 'claimed') {
             claimed.push(i)
             if (!await result.claim.complete()) throw new Error('lost')
           }
         }))
         print(JSON.stringify(claimed))
       }
       process.exit(0)`,
    )
    const programs = [1, 2].map(() => startProgram(process.execPath, [file, server.url]))
    await untilPrinted(programs, () => programs.every(({ lines }) => lines.includes('ready')))
    let bothTookPart = false
    // Where one process was done before the other one had begun, the round proves nothing.
    for (let round = 1; !bothTookPart; round++) {
      for (const { child } of programs) child.stdin.write(`${round}\n`)
      await untilPrinted(programs, () => programs.every(({ lines }) => lines.length > round))
      const [one, other] = programs.map(({ lines }) => JSON.parse(lines[round]!) as number[])
      const all = [...one!, ...other!].sort((a, b) => a - b)
      expect(all).toEqual(Array.from({ length: PAIRS }, (_, i) => i))
      bothTookPart = Math.min(one!.length, other!.length) > 0
    }
    for (const { child } of programs) child.stdin.end()
    await Promise.all(programs.map(({ ended }) => ended))
  })
})
