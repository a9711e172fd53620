import { nextTick } from 'node:process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Random } from './random.mjs'

/** When every world begins: no later than the timestamps that its senders sign. */
const BEGINS_AT = Date.UTC(2026, 0, 5, 12)

/**
 * Everything that may happen, in the order that the seed decides. Time passes only when nothing is left to do at the present
 * time. Between two happenings every promise is followed to its end, so that the order of happenings is all that varies.
 */
export class World {
  /** Milliseconds since the world began. */
  time = 0
  steps = 0
  /** What happened, one text for each thing that a reader of a failure has to know. */
  trace = []
  #waiting = new Heap()
  #random
  #number = 0
  #watches = []
  #outside
  #followed

  /** `hasTicks`: what runs in it uses `nextTick`, as pg does. To follow that to its end takes a turn of Node's loop. */
  constructor(seed, { hasTicks = false } = {}) {
    this.#random = new Random(`order ${seed}`)
    this.#followed = hasTicks ? nextTurn : promisesFollowed
  }

  /**
   * Calls `run` after `delayMs`, unless the process has died. What is due at the same time happens in an order of chance, except
   * for what has the same `order`. Returns what `cancel` takes.
   */
  after(delayMs, run, process, order = this.#random.next()) {
    const happening = {
      at: this.time + Math.max(0, delayMs),
      order,
      number: this.#number++,
      run,
      process,
    }
    this.#waiting.add(happening)
    return happening
  }

  cancel(happening) {
    if (happening) happening.run = undefined
  }

  note(who, what) {
    this.trace.push(`${this.time.toFixed(1).padStart(9)}  ${who.padEnd(10)} ${what}`)
  }

  /** Nothing else happens, and no time passes, until this has ended, which is done outside of the world. */
  meanwhile(work) {
    this.#outside = Promise.all([this.#outside, work])
  }

  /** Runs until `isOver()`, or for `limitMs` of the time of this world. Resolves to false if `maxSteps` were not enough. */
  async run(limitMs, { isOver = () => false, maxSteps = 100_000 } = {}) {
    const until = this.time + limitMs
    const last = this.steps + maxSteps
    // For what Node does between turns, such as to report promises that were rejected and that nobody looks at.
    await nextTurn()
    for (;;) {
      await this.#followed()
      while (this.#outside) {
        const outside = this.#outside
        this.#outside = undefined
        await outside
        await this.#followed()
      }
      if (isOver()) return true
      const next = this.#next()
      if (!next || next.at > until) {
        if (next) this.#waiting.add(next)
        this.#passTo(until, isOver)
        return true
      }
      if (++this.steps > last) return false
      if (this.#passTo(next.at, isOver)) return true
      next.run()
    }
  }

  /** Calls `look` after each `ms` of time, whatever happens. It may not change what happens. */
  watch(ms, look) {
    this.#watches.push({ ms, look, at: this.time + ms })
  }

  /** Returns whether it is over by what was seen meanwhile. */
  #passTo(time, isOver = () => false) {
    for (const watch of this.#watches)
      for (; watch.at < time; watch.at += watch.ms) {
        this.time = Math.max(this.time, watch.at)
        watch.look()
        if (isOver()) return true
      }
    this.time = Math.max(this.time, time)
    return false
  }

  #next() {
    for (;;) {
      const next = this.#waiting.take()
      if (!next) return undefined
      const { process } = next
      if (!next.run || process?.isDead) continue
      if (!process || Math.max(next.at, this.time) >= process.pausedUntil) return next
      // Nothing happens in a process that is paused. What was due meanwhile happens when it goes on.
      next.at = process.pausedUntil
      this.#waiting.add(next)
    }
  }
}

/** Resolves when every promise was followed to its end: Node calls what was given to `nextTick` then. A turn of its loop takes longer. */
function promisesFollowed() {
  return new Promise((resolve) => {
    nextTick(resolve)
  })
}

/** A process of this world: its clocks, its timers, and whether it lives. The clock may run fast or slow, and be set. */
export class Process {
  isDead = false
  pausedUntil = 0
  /** Whose clock of the day it has; its own if undefined. */
  machine
  /** Called once when it dies. */
  atDeath = () => {}
  #world
  #random
  #drift
  #startedAt
  #offsetMs
  /** What was given to `setImmediate`: Node calls it in this order, and follows every promise in between. */
  #immediates = []

  constructor(world, name, { seed, drift = 0, offsetMs = 0 }) {
    this.name = name
    this.#world = world
    this.#random = new Random(`process ${seed} ${name}`)
    this.#drift = drift
    this.#offsetMs = offsetMs
    this.#startedAt = world.time
  }

  kill() {
    if (this.isDead) return
    this.isDead = true
    this.atDeath()
    this.diedAt = this.#world.time
  }

  pause(ms) {
    this.pausedUntil = Math.max(this.pausedUntil, this.#world.time + ms)
  }

  /** The clock of the day jumps; the monotonic one does not. */
  setClock(byMs) {
    this.#offsetMs += byMs
  }

  now() {
    if (this.machine) return this.machine.now()
    return Math.floor(BEGINS_AT + this.#startedAt + this.#passed() + this.#offsetMs)
  }

  #passed() {
    return (this.#world.time - this.#startedAt) * (1 + this.#drift)
  }

  /** What the package takes from its process. */
  get environment() {
    return {
      now: () => this.now(),
      monotonic: () => this.#passed(),
      setTimeout: (run, ms) => this.#timeout(run, ms / (1 + this.#drift)),
      clearTimeout: (timeout) => this.#world.cancel(timeout?.happening),
      setImmediate: (run) => this.#immediate(run),
      clearImmediate: (immediate) => {
        if (immediate) immediate.run = undefined
      },
      random: () => this.#random.next(),
    }
  }

  #timeout(run, ms) {
    // Timers that are due at the same time go off in the order in which they were set. None takes less than a millisecond, as in Node.
    const timeout = {
      happening: this.#world.after(Math.max(1, ms), run, this, 0.5),
      unref: () => timeout,
      ref: () => timeout,
    }
    return timeout
  }

  #immediate(run) {
    const immediate = { run }
    if (this.#immediates.push(immediate) === 1) this.#world.after(0, () => this.#nextImmediate(), this)
    return immediate
  }

  #nextImmediate() {
    this.#immediates[0].run?.()
    // Not before, so that what `run` adds does not begin a second series.
    this.#immediates.shift()
    if (this.#immediates.length > 0) this.#world.after(0, () => this.#nextImmediate(), this)
  }
}

/** The least first: by time, then by chance. */
class Heap {
  #items = []

  add(item) {
    const items = this.#items
    let index = items.push(item) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(item, items[parent])) break
      items[index] = items[parent]
      index = parent
    }
    items[index] = item
  }

  take() {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= items.length) break
      if (child + 1 < items.length && isBefore(items[child + 1], items[child])) child++
      if (!isBefore(items[child], last)) break
      items[index] = items[child]
      index = child
    }
    items[index] = last
    return first
  }
}

function isBefore(one, other) {
  if (one.at !== other.at) return one.at < other.at
  return one.order !== other.order ? one.order < other.order : one.number < other.number
}
