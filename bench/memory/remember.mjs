// Prints how many bytes it takes to remember as many handled callbacks as the argument says.
import { randomBytes } from 'node:crypto'
import { MemoryIdempotencyStore } from 'countersign'

const subscription = 'transfers.book-completed https://partner.example.com/hooks/transfers'

async function remember(store, keys) {
  for (let key = 0; key < keys; key++) {
    const random = randomBytes(64).toString('base64')
    const { claim } = await store.claim({
      key: `${random.slice(0, 36)}@${subscription}`,
      bodyHash: `${random.slice(0, 43)}=`,
      signature: `${random.slice(43, 86)}=`,
      leaseMs: 1000,
    })
    await claim.complete()
  }
}

// The larger of two views: resident pages also count what the allocator holds back, the collector's own count also what
// has been asked for and not yet touched. The least of several looks, because buffers are freed some time after the collection.
async function bytesInUse() {
  const looks = []
  for (let look = 0; look < 20; look++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
    const { rss, heapUsed, external } = process.memoryUsage()
    looks.push({ rss, counted: heapUsed + external })
  }
  return {
    rss: Math.min(...looks.map(({ rss }) => rss)),
    counted: Math.min(...looks.map(({ counted }) => counted)),
  }
}

const keys = Number(process.argv[2])
// As many callbacks as are measured, with a store that remembers few of them. What the process keeps after that is not the
// memory of the keys: V8 from Node 22 on keeps up to 45 MB of pages for later.
await remember(new MemoryIdempotencyStore({ maxKeys: 1000, logger: false }), keys)
const before = await bytesInUse()
const store = new MemoryIdempotencyStore()
await remember(store, keys)
const after = await bytesInUse()
// Also keeps the store from being collected before it is measured.
if (store.retentionMs === 0) throw new Error('unreachable')
console.log(Math.max(after.rss - before.rss, after.counted - before.counted))
