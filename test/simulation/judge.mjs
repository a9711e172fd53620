import { idOf } from './senders.mjs'

/** How an entry may change by each call. `waiting` is stored, retrying or unhandled: the last one is derived from the others. */
const MOVES = {
  add: ['none>waiting', 'none>running', 'none>quarantined'],
  // A lease that has ended is claimed again, or, if no worker has a handler any more, the entry waits again.
  claim: ['waiting>running', 'running>waiting'],
  begin: [],
  extend: [],
  settle: ['running>handled', 'running>waiting', 'running>dead'],
  prune: ['handled>none', 'discarded>none'],
  retry: ['dead>waiting', 'waiting>waiting', 'handled>waiting'],
  release: ['quarantined>waiting'],
  discard: ['dead>discarded', 'waiting>discarded', 'quarantined>discarded'],
  undo: [
    'waiting>dead',
    'waiting>handled',
    'waiting>quarantined',
    'waiting>waiting',
    'discarded>dead',
    'discarded>waiting',
    'discarded>quarantined',
  ],
}
const OVER = ['handled', 'dead', 'discarded', 'quarantined', 'unhandled']
const ENDED = ['handled', 'dead', 'discarded']

/** Says what is wrong: after each step, and at the end. */
export class Judge {
  faults = []
  isOver = false
  #world
  #settings
  /** By id, what the entries were after the latest call. */
  #entries = new Map()
  /** Ids of entries about which an operator has decided, and when. */
  #decided = new Map()
  #runs = []
  #answers = []
  /** When something went wrong that explains that a callback is handled again. */
  #troubles = []

  constructor(world, settings) {
    this.#world = world
    this.#settings = settings
  }

  fault(what) {
    this.faults.push(what)
    this.#world.note('FAULT', what)
  }

  /** Something that explains a second run, from now on for this time. */
  trouble(process, forMs = 0) {
    this.#troubles.push({ process, from: this.#world.time, to: this.#world.time + forMs })
  }

  answered(action, answer, process) {
    const { callback, as } = action
    this.#world.note(
      process.name,
      `answers #${callback.number} (${as}): ${answer ? `${answer.status} ${answer.outcome.code}` : 'nothing'}`,
    )
    if (!answer) return
    this.#answers.push({ callback, as, ...answer })
    const may = as === 'forged' ? [401, 503] : [200, 503]
    if (!may.includes(answer.status))
      this.fault(`a callback (${as}) was answered ${answer.status} ${answer.outcome.code}`)
    if (as === 'forged' && answer.status === 200) this.fault('a forged callback was accepted')
    if (answer.status === 503 && this.#troubles.length === 0 && !this.#settings.isSlow)
      this.fault(`a callback was answered 503 ${answer.outcome.code} without a cause`)
    if (answer.status === 200 && !this.#isThere(action, answer))
      this.fault(`#${callback.number} was answered 200 and is not there`)
  }

  #isThere({ callback, as }, { outcome }) {
    const entries = [...this.#entries.values()]
    const key = idOf(callback, as === 'replay' ? 'replay' : 'key')
    if (outcome.code === 'STORED')
      return entries.some((entry) => entry.idempotencyKey === key && entry.state !== 'quarantined')
    return entries.some((entry) => entry.bodyId === idOf(callback, 'body'))
  }

  /** What the inbox has, after the calls with these names. */
  looks(process, calls, entries) {
    const now = new Map(entries.map((entry) => [entry.id, entry]))
    for (const id of new Set([...this.#entries.keys(), ...now.keys()])) {
      const [before, after] = [this.#entries.get(id), now.get(id)]
      if ((after?.decisions ?? 0) > (before?.decisions ?? 0)) this.#decided.set(id, this.#world.time)
      const [from, to] = [stateOf(before), stateOf(after)]
      if (from === to) continue
      const by = [...new Set(calls)].join(' + ')
      const who = this.#nameOf(after ?? before)
      this.#world.note(
        process.name,
        `${by}: entry ${id} (${who}) ${before?.state ?? 'none'} > ${after?.state ?? 'none'}`,
      )
      if (!statesAfter(from, calls).has(to)) this.fault(`${by} moved entry ${id} from ${from}>${to}`)
    }
    this.#entries = now
  }

  #nameOf({ idempotencyKey }) {
    return idempotencyKey.slice(0, 4)
  }

  /** A handler begins. */
  begins(process, event, { attempt, entryId, signal }, callback) {
    const entry = this.#entries.get(entryId)
    const earlier = this.#runs.filter((run) => run.entryId === entryId)
    const run = {
      process,
      entryId,
      attempt,
      callback,
      from: this.#world.time,
      end: undefined,
      number: earlier.length + 1,
    }
    signal.addEventListener('abort', () => {
      run.isAborted = true
      this.#world.note(process.name, `handler of entry ${entryId} is aborted`)
    })
    this.#world.note(process.name, `handler of entry ${entryId} begins (attempt ${attempt})`)
    if (!entry) this.fault(`a handler began for entry ${entryId}, which is not in the inbox`)
    else if (entry.state === 'quarantined')
      this.fault(`a handler began for entry ${entryId}, which is in quarantine`)
    if (attempt > this.#settings.maxAttempts)
      this.fault(`entry ${entryId}: attempt ${attempt} of ${this.#settings.maxAttempts}`)
    const last = earlier.at(-1)
    const decidedSince = last && (this.#decided.get(entryId) ?? -1) >= last.from
    if (last && !decidedSince && attempt <= last.attempt)
      this.fault(`entry ${entryId}: attempt ${attempt} after attempt ${last.attempt}`)
    for (const other of this.#runs) {
      const isSame = other.entryId === entryId
      if (!isSame) continue
      if (isRunning(other) && !this.#isExplained(other))
        this.fault(`entry ${entryId} is handled twice at once`)
      if (other.end === 'succeeds' && !other.isAborted && !decidedSince && !this.#isExplained(other))
        this.fault(`entry ${entryId} is handled again after it was handled`)
    }
    if (entry) this.#checkOrder(entry, callback)
    this.#runs.push(run)
    return run
  }

  #checkOrder(entry, { orderKey }) {
    if (!this.#settings.isOrdered || orderKey === undefined || this.#decided.has(entry.id)) return
    const before = [...this.#entries.values()].find(
      (other) =>
        Number(other.id) < Number(entry.id) &&
        this.#orderKeys.get(other.bodyId) === orderKey &&
        !this.#decided.has(other.id) &&
        ![...ENDED, 'quarantined'].includes(other.state),
    )
    if (before)
      this.fault(
        `entry ${entry.id} is handled before entry ${before.id}, which has the same order key and came before`,
      )
  }

  /** By the Id of the body. */
  #orderKeys = new Map()

  knows(callback) {
    this.#orderKeys.set(idOf(callback, 'body'), callback.orderKey)
  }

  ends(run, end) {
    if (run.end) return
    run.end = end
    this.#world.note(run.process.name, `handler of entry ${run.entryId} ${end}`)
  }

  /** Whether a fault since a run began explains that its entry is handled again, or at the same time. */
  #isExplained(run) {
    if (run.process.isDead) return true
    return this.#troubles.some(
      ({ process, from, to }) =>
        (process === undefined || process === run.process) && to >= run.from && from <= this.#world.time,
    )
  }

  /** Sets `isOver` if every entry has ended. */
  look() {
    this.isOver = [...this.#entries.values()].every(({ state }) => OVER.includes(state))
  }

  end() {
    for (const entry of this.#entries.values())
      if (!OVER.includes(entry.state)) this.fault(`entry ${entry.id} is still ${entry.state}`)
    for (const { callback, as, status, outcome } of this.#answers) {
      if (status !== 200) continue
      if (!this.#isThere({ callback, as }, { outcome }))
        this.fault(`#${callback.number} (${as}) was accepted and is lost`)
    }
    for (const entry of this.#entries.values()) {
      if (entry.state !== 'handled') continue
      if (!this.#runs.some((run) => run.entryId === entry.id && run.end === 'succeeds'))
        this.fault(`entry ${entry.id} is handled, and no handler has succeeded`)
    }
  }
}

/** Where these calls may bring an entry, if they were carried out in one transaction. */
function statesAfter(from, calls) {
  const moves = calls.flatMap((call) => MOVES[call] ?? []).map((move) => move.split('>'))
  const states = new Set([from])
  for (const state of states) for (const [before, after] of moves) if (before === state) states.add(after)
  return states
}

function stateOf(entry) {
  if (!entry) return 'none'
  return ['stored', 'retrying', 'unhandled'].includes(entry.state) ? 'waiting' : entry.state
}

function isRunning(run) {
  return run.end === undefined && !run.isAborted && !run.process.isDead
}
