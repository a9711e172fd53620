import { withTimeout } from '../../dist/base/timeout.js'

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
  'count',
  'show',
  'related',
  'stats',
  'rememberProbe',
]

/**
 * The way of processes to their inbox: each call takes time on the way there and back, may fail before it takes place, and its answer
 * may be lost after it did. Over a network, what was sent takes place also when the process that sent it has died.
 */
export class Database {
  /** Which faults there are now: set by the plan. */
  faults = { fails: 0, loses: 0, slowMs: 0 }
  #world
  #random
  #isRemote
  #isDirect
  #isTransactional
  #took
  #takesEffect
  /** By process, the calls that its inbox has not answered. */
  #underWay = new Map()

  /** `isDirect`: the inbox itself travels. `took` is called with the process and the name of each call that an inbox has answered, `takesEffect` with what a transaction ended. */
  constructor(world, random, { isRemote, isDirect, isTransactional, took, takesEffect }) {
    this.#world = world
    this.#random = random
    this.#isRemote = isRemote
    this.#isDirect = isDirect
    this.#isTransactional = isTransactional
    this.#took = took
    this.#takesEffect = takesEffect
  }

  /** An engine as a process sees it. */
  seenBy(process, engine) {
    const { retentionMs, discardedRetentionMs } = engine
    const seen = { retentionMs, discardedRetentionMs, open: async () => {}, close: async () => {} }
    if (!this.#isRemote) for (const call of ['open', 'close']) seen[call] = (opener) => engine[call](opener)
    if (this.#isDirect) {
      seen.watch = (onDue) => engine.watch(onDue)
      seen.maxTransactions = engine.maxTransactions
    }
    if (this.#isTransactional) seen.transact = (...args) => this.#transact(process, engine, ...args)
    for (const call of CALLS) seen[call] = (...args) => this.#call(process, engine, call, args)
    return seen
  }

  /** The names of the calls that a process has made and its inbox has not answered; an action of an operator by its own name. */
  underWay(process) {
    return [...(this.#underWay.get(process) ?? [])].map(({ name }) => name)
  }

  #call(process, engine, call, args) {
    if (this.#isDirect) return this.#carriedOut(process, engine, call, args, this.#world.time)
    return new Promise((resolve, reject) => {
      const fails = this.#random.happens(this.faults.fails)
      const askedAt = this.#world.time
      const carryOut = async () => {
        let answer
        try {
          if (fails) throw new LostAnswerError('the connection was refused')
          const result = await this.#carriedOut(process, engine, call, args, askedAt)
          answer = this.#random.happens(this.faults.loses)
            ? () => reject(new LostAnswerError('the connection was lost'))
            : () => resolve(result)
        } catch (error) {
          answer = () => reject(error)
        }
        this.#world.after(this.#travelMs(), answer, process)
      }
      this.#world.after(this.#travelMs(), carryOut, this.#isRemote ? undefined : process)
    })
  }

  /** As `InboxEngine.transact` says. What the handler writes takes effect if, and when, the end is recorded. */
  async #transact(process, engine, claim, { timeoutMs }, work) {
    if (this.#isDirect) return this.#carriedOut(process, engine, 'transact', [claim, { timeoutMs }, work])
    await this.#travels(process)
    const transaction = { query: async () => ({ rows: [] }) }
    const end = await withTimeout(work(transaction), timeoutMs, 'the transaction', {
      environment: process.environment,
    })
    const settle = async () => {
      const held = await this.#carriedOut(process, engine, 'settle', [[{ claim, end }]])
      if (held.has(claim.id) && end.move === 'complete') this.#takesEffect(process, claim.id)
      return held.has(claim.id) ? 'committed' : 'lost'
    }
    // A COMMIT that was sent is carried out also when its process has died.
    const result = await this.#travels(undefined).then(settle)
    await this.#travels(process)
    if (this.#random.happens(this.faults.loses)) throw new LostAnswerError('the connection was lost')
    return result
  }

  /** One way. Rejects if the other side is not reached. */
  #travels(process) {
    const fails = this.#random.happens(this.faults.fails)
    return new Promise((resolve, reject) => {
      const arrives = () => (fails ? reject(new LostAnswerError('the connection was refused')) : resolve())
      this.#world.after(this.#travelMs(), arrives, process)
    })
  }

  async #carriedOut(process, engine, call, args, askedAt) {
    const underWay = this.#underWay.get(process) ?? new Set()
    this.#underWay.set(process, underWay)
    const name = { name: call === 'act' ? args[1] : call }
    underWay.add(name)
    try {
      const result = await engine[call](...args)
      await this.#took(process, name.name, result, askedAt)
      return result
    } finally {
      underWay.delete(name)
    }
  }

  #travelMs() {
    return travelMs(this.#random, this.faults.slowMs)
  }
}

/** How long something is on its way. */
export function travelMs(random, slowMs) {
  // Often the same, so that several calls of a process are under way in the same tick.
  const usual = random.between(0, 4) / 2
  return slowMs > 0 && random.happens(0.5) ? usual + random.next() * slowMs : usual
}
