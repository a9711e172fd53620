/** The answer never came: whether the call took place is unknown to the caller. */
export class LostAnswerError extends Error {
  code = 'ECONNRESET'
}

/** What a process calls, and what may fail on the way there or back. */
const CALLS = [
  'add',
  'claim',
  'begin',
  'extend',
  'settle',
  'act',
  'prune',
  'list',
  'show',
  'related',
  'stats',
  'rememberProbe',
]

/**
 * An inbox that many processes reach over a network: each call takes time on the way there and back, may fail before it takes
 * place, and its answer may be lost after it did. What was sent takes place also when the process that sent it has died.
 */
export class Database {
  /** Which faults there are now: set by the plan. */
  faults = { fails: 0, loses: 0, slowMs: 0 }
  #world
  #engine
  #random
  #judge

  constructor(world, engine, random, judge) {
    this.#world = world
    this.#engine = engine
    this.#random = random
    this.#judge = judge
  }

  /** The engine as one process sees it. */
  seenBy(process) {
    const engine = {
      retentionMs: this.#engine.retentionMs,
      discardedRetentionMs: this.#engine.discardedRetentionMs,
      open: async () => {},
      close: async () => {},
    }
    for (const call of CALLS) engine[call] = (...args) => this.#call(process, call, args)
    return engine
  }

  #call(process, call, args) {
    return new Promise((resolve, reject) => {
      const fails = this.#random.happens(this.faults.fails)
      this.#world.after(this.#travelMs(), async () => {
        let answer
        try {
          if (fails) throw new LostAnswerError('the connection was refused')
          const result = await this.#engine[call](...args)
          await this.#judge.took(process, call, args, result)
          answer = this.#random.happens(this.faults.loses)
            ? () => reject(new LostAnswerError('the connection was lost'))
            : () => resolve(result)
        } catch (error) {
          answer = () => reject(error)
        }
        this.#world.after(this.#travelMs(), answer, process)
      })
    })
  }

  #travelMs() {
    const { slowMs } = this.faults
    const usual = this.#random.next() * 2
    return slowMs > 0 && this.#random.happens(0.5) ? usual + this.#random.next() * slowMs : usual
  }
}
