import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { CompletedKeys, type Completed, type HashedCallback } from '../../src/idempotency/completed-keys.js'
import { randomRuns } from '../support/random-runs.js'

describe('CompletedKeys', () => {
  it('finds what a list that is searched from the end finds', () => {
    const operations = fc.array(operation, { maxLength: 400, size: 'max' })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), operations, (maxRecords, operations) => {
        const [answers, expected] = [CompletedKeys, ModelOfCompletedKeys].map((Table) =>
          JSON.stringify(answersOf(new Table(maxRecords), operations)),
        )
        expect(answers).toBe(expected)
      }),
      { numRuns: randomRuns(300) },
    )
  })

  it('finds each of many thousands while they are added, and none that has left', () => {
    const maxRecords = 8_000
    const table = new CompletedKeys(maxRecords)
    const deliveries = Array.from({ length: 24_000 }, (_, i) => ({
      key: digest(`key ${i}`),
      bodyHash: digest(`body ${i}`),
      signature: digest(`signature ${i}`),
    }))
    const wrong: number[] = []
    deliveries.forEach((delivery, i) => {
      if (table.find(delivery, 0).key !== 'unknown') wrong.push(i)
      table.add(delivery, 1, 0)
      const oldest = i - maxRecords + 1
      if (table.find(delivery, 0).signature !== 'same-key') wrong.push(i)
      if (oldest >= 0 && table.find(deliveries[oldest]!, 0).signature !== 'same-key') wrong.push(oldest)
      if (oldest > 0 && table.find(deliveries[oldest - 1]!, 0).key !== 'unknown') wrong.push(oldest - 1)
    })
    expect(wrong).toEqual([])
    expect(table.size).toBe(maxRecords)
  })

  it('keeps apart what differs in the last of the 12 bytes only', () => {
    const bytes = (last: number) => Buffer.alloc(32).fill(last, 11, 12).toString('base64')
    const delivery = { key: bytes(1), bodyHash: bytes(1), signature: bytes(1) }
    const table = new CompletedKeys(100)
    table.add(delivery, 1, 0)
    expect(table.find({ ...delivery, bodyHash: bytes(2) }, 0).key).toBe('other-body')
    expect(table.find({ ...delivery, key: bytes(2) }, 0).signature).toBe('other-key')
    expect(table.find({ ...delivery, signature: bytes(2) }, 0)).toEqual({
      key: 'same-body',
      signature: 'unknown',
    })
  })

  it('removes no more expired records at a time than it is told', () => {
    const table = new CompletedKeys(100)
    for (let i = 0; i < 10; i++) table.add(everyDelivery[i]!, 1, 0)
    table.removeExpired(1, 4)
    expect(table.size).toBe(6)
  })

  it('removes nothing before it has expired', () => {
    const table = new CompletedKeys(100)
    for (let i = 0; i < 10; i++) table.add(everyDelivery[i]!, 2, 0)
    table.removeExpired(1, 4)
    expect(table.size).toBe(10)
  })
})

type Table = Pick<CompletedKeys, 'add' | 'find' | 'removeExpired' | 'size'>

function answersOf(table: Table, operations: Operation[]): unknown[] {
  const answers: unknown[] = []
  let now = 1000
  for (const { kind, delivery, ms } of operations) {
    if (kind === 'pass time') now += ms
    if (kind === 'remove expired') table.removeExpired(now, 2)
    if (kind === 'add') answers.push(table.add(delivery, now + 100, now))
    answers.push(table.find(delivery, now), table.size)
  }
  return answers.concat(everyDelivery.map((delivery) => table.find(delivery, now)))
}

/** The same, by searching a list. */
class ModelOfCompletedKeys implements Table {
  readonly #records: (HashedCallback & { expiresAt: number })[] = []
  #latestExpiry = 0
  readonly #maxRecords: number

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords
  }

  add(delivery: HashedCallback, expiresAt: number, now: number): boolean {
    this.#latestExpiry = Math.max(this.#latestExpiry, expiresAt)
    this.#records.push({ ...delivery, expiresAt: this.#latestExpiry })
    if (this.#records.length <= this.#maxRecords) return false
    return this.#records.shift()!.expiresAt > now
  }

  get size(): number {
    return this.#records.length
  }

  removeExpired(now: number, limit: number): void {
    for (let i = 0; i < limit && this.#records[0] && this.#records[0].expiresAt <= now; i++)
      this.#records.shift()
  }

  find({ key, bodyHash, signature }: HashedCallback, now: number): Completed {
    const unexpired = this.#records.filter(({ expiresAt }) => expiresAt > now)
    const sameKey = unexpired.findLast((record) => record.key === key)
    const sameSignature = unexpired.findLast((record) => record.signature === signature)
    const known = !sameKey ? 'unknown' : sameKey.bodyHash === bodyHash ? 'same-body' : 'other-body'
    if (known === 'same-body' && sameKey?.signature === signature)
      return { key: known, signature: 'same-key' }
    if (!sameSignature) return { key: known, signature: 'unknown' }
    return { key: known, signature: sameSignature.key === key ? 'same-key' : 'other-key' }
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest('base64')

const KEYS = Array.from({ length: 12 }, (_, i) => digest(`key ${i}`))
const BODIES = ['one', 'other'].map(digest)
const SIGNATURES = Array.from({ length: 20 }, (_, i) => digest(`signature ${i}`))

const everyDelivery = KEYS.flatMap((key) =>
  BODIES.flatMap((bodyHash) => SIGNATURES.map((signature) => ({ key, bodyHash, signature }))),
)

interface Operation {
  kind: 'add' | 'find' | 'pass time' | 'remove expired'
  delivery: HashedCallback
  ms: number
}

const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom<Operation['kind'][]>('add', 'add', 'add', 'find', 'pass time', 'remove expired'),
  delivery: fc.constantFrom(...everyDelivery),
  /** Mostly on, sometimes back; a record lives for 100. */
  ms: fc.integer({ min: -60, max: 120 }),
})
