import { idOf, KEYS } from './senders.mjs'

/** How an entry may change by each call. `waiting` is stored, retrying or unhandled: the last one is derived from the others. */
const MOVES = {
  add: ['none>waiting', 'none>running', 'none>quarantined'],
  // A lease that has ended is claimed again, or, if no worker has a handler any more, the entry waits again.
  claim: ['waiting>running', 'running>waiting'],
  begin: [],
  extend: [],
  settle: ['running>handled', 'running>waiting', 'running>dead'],
  transact: ['running>handled', 'running>waiting', 'running>dead'],
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
/** Calls that end what runs. */
const ENDS = ['settle', 'transact']
const AS_SIGNED = ['new', 'repeat']
const ACCEPTED = ['waiting', 'running', 'handled', 'dead']

/** How long a worker with nothing to do may take to claim what is due, in milliseconds. */
const CLAIM_LIMIT_MS = 100
/** How long the consequences of a fault may last, in milliseconds: longer than any lease, pause and time limit. */
const AFTER_TROUBLE_MS = 8_000

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
  /** Entries that were deleted. */
  #pruned = []
  /** By id, when an entry reached the state that it has, and what it was when each decision was taken that is not taken back. */
  #since = new Map()
  #undoable = new Map()
  /** By id, the runs whose transaction was committed. */
  #effects = new Map()
  /** By id, the processes one of which claimed an entry last. */
  #claimedBy = new Map()
  /** By id, when the inbox was asked to record that handlers begin. */
  #leaseFrom = new Map()
  /** By id, since when an entry has been due. */
  #dueSince = new Map()
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

  /** Something that explains a second run, from now on for this time. `lastsMs`: after which every call succeeds again. */
  trouble(process, forMs = 0, lastsMs = forMs) {
    const { time } = this.#world
    this.#troubles.push({ process, from: time, to: time + forMs, endsAt: time + lastsMs })
  }

  answered(action, answer, process) {
    const { callback, as } = action
    this.#world.note(
      process.name,
      `answers #${callback.number} (${as}): ${answer ? `${answer.status} ${answer.outcome.code}` : 'nothing'}`,
    )
    if (!answer) return
    this.#answers.push({ callback, as, signedAt: action.signedAt, ...answer })
    const may = as === 'forged' ? [401, 503] : [200, 503]
    if (!may.includes(answer.status))
      this.fault(`a callback (${as}) was answered ${answer.status} ${answer.outcome.code}`)
    if (as === 'forged' && answer.status === 200) this.fault('a forged callback was accepted')
    if (answer.status === 503 && this.#troubles.length === 0 && !this.#settings.isSlow)
      this.fault(`a callback was answered 503 ${answer.outcome.code} without a cause`)
    if (answer.status === 200 && !this.#isThere(action, answer))
      this.fault(`#${callback.number} was answered 200 and is not there`)
    const isCopy = as === 'other-type' || (action.known && as !== 'signed-anew')
    const isOnly = this.#sent.get(`${callback.number} ${as}`) === 1
    if (as === 'other-body' && isOnly && answer.outcome.code === 'DUPLICATE')
      this.fault(`another body of #${callback.number} was taken for a repeat`)
    if (answer.outcome.code === 'STORED' && isCopy)
      this.fault(`a callback (${as}) was stored, and #${callback.number} was there`)
  }

  /** By callback and kind, how often such a request was sent. */
  #sent = new Map()
  sends({ callback, as }) {
    const sent = `${callback.number} ${as}`
    this.#sent.set(sent, (this.#sent.get(sent) ?? 0) + 1)
  }

  /** Whether a callback is there beside which none of its copies is stored. */
  knows({ callback, as, signedAt }) {
    const key = idOf(callback, 'key')
    const isKept = [...this.#entries.values()].some(
      ({ id, idempotencyKey }) => idempotencyKey === key && !this.#decided.has(id),
    )
    const answers = this.#answers.filter((answer) => answer.callback === callback)
    const isStored = answers.some(
      (answer) => AS_SIGNED.includes(answer.as) && answer.outcome.code === 'STORED',
    )
    if (as !== 'replay-anew') return isKept && isStored && ['repeat', 'replay', 'other-body'].includes(as)
    return (
      isKept &&
      answers.some(
        (answer) =>
          answer.as === 'signed-anew' &&
          answer.signedAt === signedAt &&
          (answer.outcome.code === 'STORED' || (isStored && answer.outcome.code === 'DUPLICATE')),
      )
    )
  }

  /** Whether the inbox has what a callback was accepted for, or has deleted it. */
  #isThere({ callback, as }, { outcome }) {
    const entries = [...this.#entries.values(), ...this.#pruned]
    const key = idOf(callback, KEYS[as] ?? 'key')
    if (outcome.code === 'STORED')
      return entries.some((entry) => entry.idempotencyKey === key && entry.state !== 'quarantined')
    return entries.some((entry) => entry.bodyId === idOf(callback, 'body'))
  }

  /** The inbox has recorded that the handlers of these entries begin. It was asked to at this time. */
  begun(ids, askedAt) {
    for (const id of ids) this.#leaseFrom.set(id, askedAt)
  }

  /** What the inbox has, after the calls with these names. If several processes have made them at once, either may have changed it. */
  looks(processes, calls, entries) {
    const [process] = processes
    const now = new Map(entries.map((entry) => [entry.id, entry]))
    for (const id of new Set([...this.#entries.keys(), ...now.keys()])) {
      const [before, after] = [this.#entries.get(id), now.get(id)]
      const [from, to] = [stateOf(before), stateOf(after)]
      const isClaimed = to === 'running' && (from !== to || before.token !== after.token)
      const isHolder = processes.some((each) => this.#hasClaimed(each, id))
      const ends = calls.some((call) => ENDS.includes(call))
      if (isClaimed) {
        this.#claimedBy.set(id, processes)
        this.#checkLease(after)
        // One commit may have both: what was claimed is handed back, and claimed again.
        if (from === to && Number(before.dueAt) > this.#settings.inboxNow() && !(ends && isHolder))
          this.fault(`entry ${id} is claimed, and the lease of the claim before has not ended`)
        if (from === to) this.#world.note(process.name, `claim: entry ${id} (${this.#nameOf(after)}) again`)
      }
      if (from === 'running' && from !== to && ends && !isHolder)
        this.fault(`${process.name} ended entry ${id}, which another process has claimed`)
      if ((after?.decisions ?? 0) > (before?.decisions ?? 0))
        this.#checkDecision(
          processes.find(({ decision }) => decision),
          before,
          after,
        )
      if (from !== to || before.token !== after.token || before.decisions !== after.decisions)
        this.#dueSince.delete(id)
      if (from === to) continue
      this.#checkMove(id, to, from)
      if (!after) this.#pruned.push(before)
      // What is restored ended when it had ended before.
      const since = calls.includes('undo') ? this.#sinceBefore.get(id) : undefined
      this.#since.set(id, since ?? this.#world.time)
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

  #hasClaimed(process, id) {
    return this.#claimedBy.get(id)?.includes(process) ?? false
  }

  #checkLease({ id, dueAt, dueSetAt }) {
    const now = this.#settings.inboxNow()
    // With PostgreSQL a commit comes later than the statement that claims, perhaps after others that wait for locks.
    const forMs = Number(dueAt) - Number(dueSetAt ?? now)
    if (forMs < this.#settings.leaseMs - 1) this.fault(`entry ${id} is claimed for ${forMs} ms`)
  }

  /** An entry is in a state that it was not in before. */
  #checkMove(id, to, from) {
    if (to === 'running') this.#undoable.delete(id)
    const runs = this.#runsSinceDecision(id)
    if (to === 'handled' && from === 'running' && !runs.some(({ end }) => end === 'succeeds'))
      this.fault(`entry ${id} is handled, and no handler has succeeded`)
    const isUntouched = this.#isCalm && !this.#decided.has(id)
    if (to === 'dead' && from === 'running' && isUntouched && runs.length < this.#settings.maxAttempts)
      this.fault(`entry ${id} is dead after ${runs.length} of ${this.#settings.maxAttempts} attempts`)
    if (to === 'waiting' && from === 'running' && isUntouched && runs.length >= this.#settings.maxAttempts)
      this.fault(`entry ${id} waits after ${runs.length} of ${this.#settings.maxAttempts} attempts`)
    // The clock of the service is right.
    const signedMs = this.#settings.serviceNow() - Number(this.#entries.get(id)?.signedAt)
    if (to === 'none' && signedMs < this.#settings.retentionMs)
      this.fault(`entry ${id} was deleted ${signedMs} ms after it was signed`)
    if (to === 'none' && this.#settings.retentionMs !== undefined && !this.#clockWasSet) {
      const ageMs = this.#world.time - this.#since.get(id)
      if (ageMs < this.#settings.retentionMs) this.fault(`entry ${id} was deleted after ${ageMs} ms`)
    }
  }

  #checkDecision({ decision: { action, again } }, before, after) {
    const { id } = after
    if (action === 'undo') {
      const state = this.#undoable.get(id)
      if (state === undefined) this.fault(`a decision about entry ${id} was taken back that could not be`)
      else if (state !== stateOf(after))
        this.fault(`entry ${id} was ${state}, and after undo ${stateOf(after)}`)
      this.#undoable.delete(id)
      this.#checkUndo(before, after, again)
    } else {
      this.#undoable.set(id, stateOf(before))
      this.#copiesAtDecision.set(id, before.copies)
      this.#sinceBefore.set(id, this.#since.get(id))
    }
    if (action === 'retry' && before.state === 'handled' && !again)
      this.fault(`entry ${id} was handled, and is tried again`)
    const others = [...this.#entries.values()].filter(
      (other) =>
        other.id !== id && other.idempotencyKey === after.idempotencyKey && ACCEPTED.includes(stateOf(other)),
    )
    if (action === 'release' && !again && others.length > 0)
      this.fault(`entry ${id} was released beside entry ${others[0].id}`)
    this.#decided.set(id, this.#world.time)
  }

  #copiesAtDecision = new Map()
  #sinceBefore = new Map()

  #checkUndo(before, after, again) {
    const { id, bodyId, idempotencyKey, copies } = after
    const others = [...this.#entries.values()].filter((other) => other.id !== id)
    const isBack = stateOf(before) === 'discarded' && stateOf(after) === 'waiting'
    const same = others.find(
      (other) =>
        other.idempotencyKey === idempotencyKey && ['waiting', 'running', 'handled'].includes(stateOf(other)),
    )
    if (isBack && !again && same)
      this.fault(`entry ${id} waits again beside entry ${same.id}, which has its key`)
    const isAlone = others.every((other) => other.bodyId !== bodyId)
    const isTakenBack = stateOf(before) === 'waiting' && stateOf(after) === 'quarantined'
    if (isTakenBack && isAlone && copies !== this.#copiesAtDecision.get(id))
      this.fault(`entry ${id} is in quarantine again, and a repeat was recognised by it`)
  }

  /** A handler that ignores its signal keeps its entry until its lease is over. A millisecond less, as clocks differ. */
  #isRunning({ end, process, leaseFrom, isAborted }) {
    if (end !== undefined || process.isDead) return false
    return !isAborted || this.#world.time < leaseFrom + 0.9 * this.#settings.leaseMs
  }

  #runsSinceDecision(id) {
    const since = this.#decided.get(id) ?? -1
    return this.#runs.filter(({ entryId, from }) => entryId === id && from >= since)
  }

  get #isCalm() {
    return this.#troubles.length === 0
  }

  /** How long something with few calls may take that nothing prevents. A call may take several statements, and wait for the one before. */
  get #promptMs() {
    const { slowMs, statements = 1 } = this.#settings
    return statements * (CLAIM_LIMIT_MS + 12 * slowMs)
  }

  /** The effect of a transactional handler was committed. */
  takesEffect(process, entryId) {
    this.#world.note(process.name, `the effect of entry ${entryId} is committed`)
    const since = this.#decided.get(entryId) ?? -1
    // What takes effect in the moment of a decision came before it, as a claim takes time.
    const effects = (this.#effects.get(entryId) ?? []).filter((at) => at > since)
    const { stoppedAt = Infinity } = process
    if (this.#world.time > stoppedAt + this.#promptMs && !this.#isClockOrInboxToBlame())
      this.fault(`the effect of entry ${entryId} was committed after ${process.name} had stopped`)
    if (effects.length > 0) this.fault(`the effect of entry ${entryId} was committed twice`)
    this.#effects.set(entryId, [...effects, this.#world.time])
  }

  /** Something waits although a worker could handle it. To be called all the time, with the processes that have handlers. */
  waits(workers, now, isOneProcess) {
    const { concurrency, pollMs } = this.#settings
    const { time } = this.#world
    const isTrouble = this.#troubles.some(({ to }) => time <= to + AFTER_TROUBLE_MS)
    for (const worker of workers) {
      const running = this.#runs.filter(
        (run) => run.process === worker.process && run.end === undefined,
      ).length
      // An interrupted entry is handled alone.
      const isFree = worker.isReady && (this.#isCalm ? running < concurrency : running === 0)
      if (!isFree || isTrouble) worker.freeSince = undefined
      else worker.freeSince ??= time
    }
    this.#checkLateHandlers()
    this.#checkEnds()
    for (const entry of this.#entries.values()) {
      const isDue =
        ['stored', 'retrying'].includes(entry.state) &&
        entry.dueAt !== undefined &&
        Number(entry.dueAt) <= now
      if (!isDue) {
        this.#dueSince.delete(entry.id)
        continue
      }
      if (!this.#dueSince.has(entry.id)) this.#dueSince.set(entry.id, time)
      // What another process decides makes an entry due, or the next one of its order key.
      const isDecided = this.#decided.has(entry.id) || (this.#settings.isOrdered && this.#decided.size > 0)
      // With PostgreSQL it tells the others.
      const polls = (!this.#settings.isAnnounced && (!isOneProcess || isDecided)) || !this.#isCalm
      const limitMs = this.#promptMs + (polls ? pollMs : 0)
      const idle = workers.find(
        ({ freeSince }) => time - Math.max(freeSince ?? Infinity, this.#dueSince.get(entry.id)) > limitMs,
      )
      if (idle)
        this.fault(`entry ${entry.id} waits for ${limitMs} ms, and ${idle.process.name} has nothing to do`)
    }
  }

  /** Handlers that go on without being aborted, although their time is over or another process has their entry. */
  #checkLateHandlers() {
    const { handlerTimeoutMs, leaseMs } = this.#settings
    const { time } = this.#world
    const isTrouble = this.#troubles.some(({ to }) => time <= to)
    for (const run of this.#runs) {
      if (run.end !== undefined || run.isAborted || run.process.isDead) continue
      if (this.#isCalm && time > run.from + handlerTimeoutMs * 1.01 + 10)
        this.fault(`the handler of entry ${run.entryId} has run for ${time - run.from} ms`)
      const isLost = !isTrouble && !this.#hasClaimed(run.process, run.entryId)
      if (!isLost) run.lostSince = undefined
      else run.lostSince ??= time
      if (time - run.lostSince > leaseMs / 3 + this.#promptMs + 100)
        this.fault(`the handler of entry ${run.entryId} goes on, and another process has claimed it`)
    }
  }

  /** Handlers that have ended, and whose end is not recorded although nothing prevents it. */
  #checkEnds() {
    const { isTransactional, pollMs } = this.#settings
    if (isTransactional) return
    const { time } = this.#world
    const triedAgainMs = this.#isCalm ? 0 : Math.min(pollMs, 1_000)
    const limitMs = this.#promptMs + triedAgainMs
    const troubleEndsAt = Math.max(...this.#troubles.map(({ endsAt }) => endsAt))
    for (const run of this.#runs) {
      const { entryId, process, token } = run
      if (run.end === undefined || run.isAborted || process.isDead || process.stops) continue
      if (time - Math.max(run.to, troubleEndsAt) <= limitMs) continue
      const entry = this.#entries.get(entryId)
      const isHeld = entry?.state === 'running' && entry.token === token
      if (isHeld)
        this.fault(`the handler of entry ${entryId} has ended for ${time - run.to} ms, which is not recorded`)
    }
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
      token: entry?.token,
      key: event.idempotencyKey,
      signed: `${Number(event.signedAt)} ${event.rawBody}`,
      from: this.#world.time,
      leaseFrom: this.#leaseFrom.get(entryId) ?? this.#world.time,
      end: undefined,
      number: earlier.length + 1,
    }
    signal.addEventListener('abort', () => {
      run.isAborted = true
      run.abortedAt ??= this.#world.time
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
    // A step of the clock ends leases, also of a process that has begun and not yet called its handlers.
    const isStepped = this.#world.time - this.#clockSetAt <= this.#settings.leaseMs
    if (last && !decidedSince && !isStepped && attempt <= last.attempt)
      this.fault(`entry ${entryId}: attempt ${attempt} after attempt ${last.attempt}`)
    if (this.#isCalm && !decidedSince && attempt !== (last?.attempt ?? 0) + 1)
      this.fault(`entry ${entryId}: attempt ${attempt} after attempt ${last?.attempt ?? 0}`)
    const pausedMs = last && run.from - (last.abortedAt ?? last.to)
    if (this.#isCalm && last && !decidedSince && pausedMs < this.#settings.retryDelayMs / 2 - 1)
      this.fault(`entry ${entryId} is tried again after ${pausedMs} ms`)
    const beside = this.#runs.filter((other) => other.process === process && this.#isRunning(other)).length
    if (beside >= this.#settings.concurrency) this.fault(`${process.name} runs ${beside + 1} handlers`)
    this.#checkForgotten(entryId, run)
    if (process.stoppedAt !== undefined) this.fault(`a handler began in ${process.name}, which has stopped`)
    for (const other of this.#runs) {
      const isSame = other.entryId === entryId
      const { isOrdered } = this.#settings
      const isNext =
        isOrdered && callback.orderKey !== undefined && other.callback.orderKey === callback.orderKey
      if (!isSame && isNext && this.#isRunning(other) && !this.#isExplained(other))
        this.fault(`entry ${entryId} is handled beside entry ${other.entryId}, which has the same order key`)
      if (!isSame) continue
      if (this.#isRunning(other) && (other.process === process || !this.#isExplained(other)))
        this.fault(`entry ${entryId} is handled twice at once`)
      const isDecided = (this.#decided.get(entryId) ?? -1) >= other.from
      if (other.end === 'succeeds' && !other.isAborted && !isDecided && !this.#isExplained(other))
        this.fault(`entry ${entryId} is handled again after it was handled`)
    }
    if (!this.#hasClaimed(process, entryId) && !this.#isClockOrInboxToBlame())
      this.fault(`a handler began for entry ${entryId}, which another process has claimed`)
    if (entry) this.#checkOrder(entry, callback)
    this.#runs.push(run)
    return run
  }

  /** What was handled, and was deleted since, is not handled again. */
  #checkForgotten(entryId, run) {
    if (this.#decided.has(entryId)) return
    const again = this.#runs.find(
      (other) => other.entryId !== entryId && other.signed === run.signed && other.end === 'succeeds',
    )
    if (again && !this.#decided.has(again.entryId))
      this.fault(`entry ${entryId} is what was handled as entry ${again.entryId}`)
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
  willBeSent(callback) {
    this.#orderKeys.set(idOf(callback, 'body'), callback.orderKey)
  }

  clockIsSet() {
    this.#clockWasSet = true
    this.#clockSetAt = this.#world.time
  }

  #clockWasSet = false
  #clockSetAt = -Infinity

  ends(run, end) {
    if (run.end) return
    run.end = end
    run.to = this.#world.time
    this.#world.note(run.process.name, `handler of entry ${run.entryId} ${end}`)
  }

  /** Within the last lease. */
  #isClockOrInboxToBlame() {
    const since = this.#world.time - this.#settings.leaseMs
    return this.#troubles.some(({ process, to }) => process === undefined && to >= since)
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
    if (!this.#settings.isTransactional) return
    for (const { id, state } of this.#entries.values())
      if (state === 'handled' && !this.#effects.has(id))
        this.fault(`entry ${id} is handled without an effect`)
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
