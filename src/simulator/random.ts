import { createHash } from 'node:crypto'

/** Repeatable random values: ids and orders that are the same whenever the seed is. Never for what has to stay secret. */
export interface Random {
  uuid(): string
  shuffle<Item>(items: readonly Item[]): Item[]
}

export function seededRandom(seed: number): Random {
  let drawn = 0
  const draw = () => createHash('sha256').update(`${seed} ${drawn++}`).digest()
  return {
    uuid() {
      const bytes = draw().subarray(0, 16)
      // Version 4 and its variant (RFC 9562, section 5.4).
      bytes[6] = (bytes[6]! & 0x0f) | 0x40
      bytes[8] = (bytes[8]! & 0x3f) | 0x80
      return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    },
    shuffle(items) {
      const shuffled = [...items]
      for (let last = shuffled.length - 1; last > 0; last--) {
        const other = draw().readUInt32BE() % (last + 1)
        ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
      }
      return shuffled
    },
  }
}
