import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

describe('MemoryIdempotencyStore', () => {
  it('remembers a million keys in less than 100 MB', () => {
    const { remembered, bytes } = runAlone(`
      await complete(new MemoryIdempotencyStore({ maxKeys: 1000, logger: false }), 20) // what compiled code takes is not counted
      const before = live()
      const store = new MemoryIdempotencyStore()
      const samples = await complete(store, 1000)
      const bytes = live() - before
      const results = await Promise.all(samples.map((delivery) => store.claim(delivery)))
      return { remembered: results.filter(({ state }) => state === 'completed').length, bytes }
    `)
    expect(remembered).toBe(1000)
    expect(bytes).toBeLessThan(100_000_000)
  }, 60_000)

  it('takes no more memory for keys that have come and gone', () => {
    const { bytes } = runAlone(`
      let now = 0
      const store = new MemoryIdempotencyStore({ retentionMs: 1, clock: () => now })
      await complete(store, 5, () => now++)
      const before = await arrayBuffers()
      await complete(store, 200, () => now++)
      return { bytes: (await arrayBuffers()) - before }
    `)
    expect(bytes).toBeLessThan(1_000_000)
  }, 60_000)
})

// In a process of its own, as the memory of this one is anybody's. The young generation is kept small, as it grows by
// tens of megabytes with what is thrown away, not with what is kept.
function runAlone(measurement: string): Record<string, number> {
  const { outputFiles } = buildSync({
    stdin: { contents: program(measurement), resolveDir: join(__dirname, '../../src/idempotency') },
    bundle: true,
    platform: 'node',
    write: false,
  })
  const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '--max-semi-space-size=1', '-'], {
    input: outputFiles[0]!.contents,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

const program = (measurement: string) => `
  import { randomBytes } from 'node:crypto'
  import { MemoryIdempotencyStore } from './memory-store.ts'

  /** The least of several looks: buffers are freed some time after the collection that found them unused. */
  async function arrayBuffers() {
    const looks = []
    for (let look = 0; look < 20; look++) {
      looks.push(memoryUsage().arrayBuffers)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return Math.min(...looks)
  }

  /** Completes so many thousands of deliveries, and returns the last of each. */
  async function complete(store, thousands, afterEach = () => {}) {
    const samples = []
    for (let thousand = 0; thousand < thousands; thousand++) {
      const random = randomBytes(64_000)
      let delivery
      for (let at = 0; at < random.length; at += 64) {
        const bodyHash = random.toString('base64', at, at + 32)
        const signature = random.toString('base64', at + 32, at + 64)
        delivery = { key: signature.slice(0, 36), bodyHash, signature, leaseMs: 1000 }
        const { claim } = await store.claim(delivery)
        await claim.complete()
      }
      samples.push(delivery)
      afterEach()
    }
    return samples
  }

  // Not the resident set, which has tens of megabytes of what the allocator keeps for later: npm run bench shows that.
  function live() {
    const { heapUsed, external } = memoryUsage()
    return heapUsed + external
  }

  function memoryUsage() {
    gc()
    return process.memoryUsage()
  }

  async function measure() {
    ${measurement}
  }
  measure().then((result) => process.stdout.write(JSON.stringify(result)))
`
