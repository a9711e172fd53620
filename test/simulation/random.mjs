/** Numbers that a seed decides: sfc32, whose 128 bits of state are set from the text of the seed. */
export class Random {
  #state

  constructor(seed) {
    this.#state = hashed(String(seed))
    for (let round = 0; round < 12; round++) this.next()
  }

  /** From 0 to below 1. */
  next() {
    const state = this.#state
    const sum = (((state[0] + state[1]) | 0) + state[3]) | 0
    state[3] = (state[3] + 1) | 0
    state[0] = state[1] ^ (state[1] >>> 9)
    state[1] = (state[2] + (state[2] << 3)) | 0
    state[2] = ((state[2] << 21) | (state[2] >>> 11)) + sum
    state[2] |= 0
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number from `from` to `to`, both included. */
  between(from, to) {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  /** Whether something happens that has this probability. */
  happens(probability) {
    return this.next() < probability
  }

  one(list) {
    return list[Math.floor(this.next() * list.length)]
  }
}

/** FNV-1a, four times with another start. */
function hashed(text) {
  return [0x811c9dc5, 0x01000193, 0x9e3779b9, 0x85ebca6b].map((start) => {
    let hash = start
    for (let index = 0; index < text.length; index++)
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
    return hash | 0
  })
}
