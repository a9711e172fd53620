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
// has been asked for and not yet touched.
function bytesInUse() {
  gc()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, counted: heapUsed + external }
}

// What compiled code takes is not counted.
await remember(new MemoryIdempotencyStore({ maxKeys: 1000 }), 20_000)
const before = bytesInUse()
const store = new MemoryIdempotencyStore()
await remember(store, Number(process.argv[2]))
const after = bytesInUse()
// Also keeps the store from being collected before it is measured.
if (store.retentionMs === 0) throw new Error('unreachable')
console.log(Math.max(after.rss - before.rss, after.counted - before.counted))
