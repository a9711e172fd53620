import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../../support/built-program.js'
import { buildRedisProgram } from '../../support/redis-program.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'
import { until } from '../../support/until.js'

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
       for await (const line of createInterface(process.stdin)) {
         const claimed = []
         await Promise.all(Array.from({ length: ${PAIRS} }, async (_, i) => {
           const result = await store.claim({
             key: 'twin ' + i, bodyHash: digest('body ' + i), signature: digest('signature ' + i), leaseMs: 60_000,
           })
           if (result.state === 'claimed') {
             claimed.push(i)
             if (!await result.claim.complete()) throw new Error('lost')
           }
         }))
         print(JSON.stringify(claimed))
         process.exit(0)
       }`,
    )
    const programs = [1, 2].map(() => startProgram(process.execPath, [file, server.url]))
    await until(() => programs.every(({ lines }) => lines.includes('ready')))
    for (const { child } of programs) child.stdin.write('begin\n')
    const outputs = await Promise.all(programs.map(({ ended }) => ended))
    const [one, other] = outputs.map((lines) => JSON.parse(lines[1]!) as number[])
    const all = [...one!, ...other!].sort((a, b) => a - b)
    expect(all).toEqual(Array.from({ length: PAIRS }, (_, i) => i))
    // Both took part.
    expect(Math.min(one!.length, other!.length)).toBeGreaterThan(0)
  })
})
