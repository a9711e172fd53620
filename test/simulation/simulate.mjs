import { createReceiver, createWorker, MemoryInbox } from '../../dist/index.js'
import { ENVIRONMENT } from '../../dist/base/environment.js'
import { ENGINE, Inbox } from '../../dist/inbox/inbox.js'
import { IN_PROCESS } from '../../dist/inbox/sqlite/sqlite-inbox.js'
import { PostgresInbox } from '../../dist/postgres.js'
import { SqliteInbox } from '../../dist/sqlite.js'
import { Database } from './database.mjs'
import { SimulatedFile } from './file.mjs'
import { Judge } from './judge.mjs'
import { MAX_TRANSACTIONS, SCHEMA, SimulatedPostgres, startPostgres, WRITE_EFFECT } from './postgres.mjs'
import { Random } from './random.mjs'
import { idOf, OTHER_SUBSCRIPTION, requestOf, SUBSCRIPTION } from './senders.mjs'
import { Process, World } from './world.mjs'

/** How long after the last fault everything has to be over, in milliseconds. */
const QUIET_MS = 120_000
const LOOKS_EVERY_MS = 200
const WATCHES_EVERY_MS = 50
/** With PostgreSQL, and how many other calls a call may wait for. */
const STATEMENTS_OF_A_CALL = 5
const DECISIONS = ['retry', 'release', 'discard', 'undo']

/** Carries out a plan. Resolves to what was wrong, and to the trace of what happened. */
export async function simulate(plan) {
  const server = plan.settings.inbox === 'postgres' ? await startPostgres() : undefined
  await server?.empty()
  const simulation = new Simulation(plan, server)
  try {
    await simulation.run()
  } finally {
    await simulation.end()
  }
  return { faults: simulation.judge.faults, trace: simulation.world.trace, steps: simulation.world.steps }
}

class Simulation {
  #plan
  #random
  #database
  #server
  #service
  /** The present process in each place. */
  #places = []
  #signedAt = new Map()
  #signedAnewAt = new Map()
  #actionsLeft
  /** With SQLite, the file that the processes share. */
  #file
  /** With PostgreSQL, their database. */
  #postgres
  /** Otherwise the engine that they share, how many decisions it has about each entry, and the tokens of the latest claims. */
  #engine
  #decisions = new Map()
  #tokens = new Map()
  #operators = 0
  #decidedLast

  constructor(plan, server) {
    this.#plan = plan
    const { seed, settings } = plan
    this.world = new World(seed, { hasTicks: server !== undefined })
    this.#random = new Random(`chance ${seed}`)
    this.#server = new Process(this.world, 'server', { seed })
    // Its clock is right.
    this.#service = new Process(this.world, 'service', { seed })
    this.judge = new Judge(this.world, {
      ...settings,
      // A worker has no more slots than that.
      ...(server &&
        settings.isTransactional && { concurrency: Math.min(settings.concurrency, MAX_TRANSACTIONS) }),
      isSlow: settings.slowMs > 0,
      isAnnounced: server !== undefined,
      statements: server ? STATEMENTS_OF_A_CALL : 1,
      inboxNow: () => this.#server.now(),
      serviceNow: () => this.#service.now(),
    })
    const isRemote = settings.inbox === 'memory'
    if (isRemote)
      this.#engine = new MemoryInbox({ ...retentionOf(settings), [ENVIRONMENT]: this.#server.environment })[
        ENGINE
      ]
    else if (server)
      this.#postgres = new SimulatedPostgres(this.world, new Random(`postgres ${seed}`), {
        server,
        clock: () => this.#server.now(),
        callsOf: (process) => this.#database.underWay(process),
        committed: (...seen) => this.judge.looks(...seen),
        takesEffect: (process, id) => this.judge.takesEffect(process, id),
      })
    else
      this.#file = new SimulatedFile(new Random(`file ${seed}`), (process, entries) =>
        this.judge.looks([process], this.#database.underWay(process), entries),
      )
    const took = async (process, call, result, askedAt) => {
      if (call === 'begin') this.judge.begun(result, askedAt)
      if (call === 'claim') {
        const begun = result.entries.filter((entry) => entry.begun)
        this.judge.begun(
          begun.map(({ id }) => id),
          askedAt,
        )
      }
      if (call === 'add' && result.claim) this.judge.begun([result.id], askedAt)
      this.#afterCall(process, call, result)
      if (!isRemote) return
      const claims = [...(call === 'claim' ? result.entries : []), ...(result?.claim ? [result.claim] : [])]
      for (const { id, token } of claims) this.#tokens.set(id, token)
      this.judge.looks([process], [call], await this.#entries(call))
    }
    this.#database = new Database(this.world, new Random(`database ${seed}`), {
      isRemote,
      isDirect: server !== undefined,
      isTransactional: settings.isTransactional,
      took,
      takesEffect: (process, id) => this.judge.takesEffect(process, id),
    })
    const way = this.#postgres ?? this.#database
    way.faults.slowMs = settings.slowMs
    this.#actionsLeft = plan.actions.length
    for (const { callback } of plan.actions) if (callback) this.judge.willBeSent(callback)
  }

  async run() {
    const { receivers, workers } = this.#plan.settings
    for (let place = 0; place < receivers + workers; place++) this.#start(place)
    for (const action of this.#plan.actions)
      this.world.after(action.at, () => {
        this.#actionsLeft--
        if (action.call) this.#waiting.push(action)
        else this[`_${action.do}`](action)
      })
    const isOver = () => this.judge.isOver || this.judge.faults.length > 0
    this.world.watch(LOOKS_EVERY_MS, () => this.#look())
    this.world.watch(WATCHES_EVERY_MS, () => this.#lookAtWaiting())
    const inTime = await this.world.run(QUIET_MS, { isOver })
    if (this.judge.faults.length > 0) return
    if (!inTime) this.judge.fault('too many steps: something goes on for ever')
    const stored = this.#postgres ?? this.#file
    if (stored) this.judge.looks([{ name: 'judge' }], [], await stored.entries())
    this.judge.end()
  }

  async end() {
    for (const { process } of this.#places) process.kill()
    this.#file?.delete()
    await this.#postgres?.end()
  }

  /** What the inbox in memory has after a call with this name. */
  async #entries(call) {
    const { entries } = await this.#engine.list({}, { limit: 1_000 })
    if (DECISIONS.includes(call))
      for (const { id } of entries) this.#decisions.set(id, (await this.#engine.show(id)).history.length)
    return entries.map((entry) => ({
      ...entry,
      decisions: this.#decisions.get(entry.id) ?? 0,
      token: this.#tokens.get(entry.id),
    }))
  }

  /** The inbox of a process: of its own, or the one that all share. */
  #engineFor(process) {
    if (this.#engine) return this.#database.seenBy(process, this.#engine)
    const { environment } = process
    if (this.#postgres) {
      const inbox = new PostgresInbox({
        pool: this.#postgres.poolOf(process),
        schema: SCHEMA,
        ...retentionOf(this.#plan.settings),
        busyTimeoutMs: this.#plan.settings.dependencyTimeoutMs,
        [ENVIRONMENT]: environment,
        logger: false,
      })
      return this.#database.seenBy(process, inbox[ENGINE])
    }
    const driver = this.#file.driverOf(process)
    const inbox = new SqliteInbox({
      file: this.#file.path,
      ...retentionOf(this.#plan.settings),
      [ENVIRONMENT]: environment,
      [IN_PROCESS]: driver,
      logger: false,
    })
    return this.#database.seenBy(process, inbox[ENGINE])
  }

  /** Once everything was done, and every process lives, the judge is asked whether all is over. */
  #look() {
    const allLive = this.#places.every(({ process, stops }) => !process.isDead && !stops)
    if (this.#actionsLeft === 0 && this.#underWay === 0 && allLive) this.judge.look()
  }

  #lookAtWaiting() {
    const { receivers, workers } = this.#plan.settings
    const able = this.#places.filter(({ isReceiver }) => !isReceiver || workers === 0)
    this.judge.waits(able, this.#server.now(), receivers + workers === 1)
  }

  /** Actions that wait for a call. */
  #waiting = []

  /** An inbox has carried out a call, and the process does not know it yet. */
  #afterCall(process, call, result) {
    const isIn = (action) =>
      action.call === call &&
      (action.process === undefined || this.#places[action.process].process === process)
    const index = this.#waiting.findIndex(isIn)
    const hasEffect = call === 'add' || (result?.entries?.length ?? result?.size) > 0
    if (index < 0 || !hasEffect) return
    const [action] = this.#waiting.splice(index, 1)
    this.world.after(0, () => this[`_${action.do}`](action))
  }

  /** What was begun and has not ended: requests, faults, decisions. */
  #underWay = 0

  #start(place) {
    const { settings, seed } = this.#plan
    const number = (this.#places[place]?.number ?? 0) + 1
    const process = new Process(this.world, `p${place}.${number}`, {
      seed,
      drift: settings.driftOf[place],
      offsetMs: settings.offsetsMs[place] + (this.#places[place]?.setByMs ?? 0),
    })
    // The processes that share a file are on one machine.
    if (this.#file) process.machine = this.#server
    const own = {
      inbox: new Inbox(this.#engineFor(process)),
      logger: false,
      concurrency: settings.concurrency,
      leaseMs: settings.leaseMs,
      handlerTimeoutMs: settings.handlerTimeoutMs,
      dependencyTimeoutMs: settings.dependencyTimeoutMs,
      maxAttempts: settings.maxAttempts,
      retryDelayMs: settings.retryDelayMs,
      maxRetryDelayMs: settings.maxRetryDelayMs,
      pollMs: settings.pollMs,
      stopTimeoutMs: 500,
      [ENVIRONMENT]: process.environment,
    }
    const isReceiver = place < settings.receivers
    const program = isReceiver
      ? createReceiver({
          ...own,
          subscriptions: [SUBSCRIPTION, OTHER_SUBSCRIPTION],
          ...(settings.retentionMs && {
            toleranceMs: settings.retentionMs - 1_000,
            futureToleranceMs: 1_000,
          }),
          diagnosis: false,
          ...(settings.isOrdered && { orderBy: ({ payload }) => payload.Order }),
        })
      : createWorker(own)
    if (!isReceiver || settings.workers === 0) this.#handle(program, process)
    this.#places[place] = {
      process,
      program,
      number,
      isReceiver,
      isReady: false,
      setByMs: this.#places[place]?.setByMs ?? 0,
    }
    const started = this.#places[place]
    const start = () =>
      program.start().then(
        () => (started.isReady = true),
        () => this.world.after(200, start, process),
      )
    void start()
    this.world.note(process.name, 'starts')
  }

  #handle(program, process) {
    const transactional = this.#plan.settings.isTransactional
    program.on('transfer', (event, context) => this.#handler(process, event, context), { transactional })
  }

  /** Does in each attempt what the plan says. */
  #handler(process, event, context) {
    const callback = this.#plan.actions.find(
      ({ callback }) => callback && idOf(callback, 'body') === event.payload.Id,
    ).callback
    const run = this.judge.begins(process, event, context, callback)
    const { signal } = context
    const does = callback.attempts[Math.min(run.number, callback.attempts.length) - 1]
    let effect
    if (this.#postgres && this.#plan.settings.isTransactional) {
      effect = context.transaction.query(WRITE_EFFECT, [context.entryId])
      effect.catch(() => {})
    }
    return new Promise((resolve, reject) => {
      const end = () => {
        this.judge.ends(run, does.fails ? 'fails' : 'succeeds')
        if (does.fails) reject(new Error('the handler failed'))
        else resolve(effect)
      }
      const timer = this.world.after(does.takesMs, end, process)
      if (does.ignoresSignal) return
      signal.addEventListener('abort', () => {
        this.world.cancel(timer)
        this.judge.ends(run, 'gives up')
        reject(new Error('aborted'))
      })
    })
  }

  /** The service sends a callback again until it is answered 2xx, or a fifth time; others send theirs once. */
  _send(action, tries = 5) {
    const { callback, as } = action
    const ready = this.#places.filter(
      ({ isReceiver, isReady, process }) => isReceiver && isReady && !process.isDead,
    )
    const isGenuine = ['new', 'repeat', 'signed-anew', 'other-body'].includes(as)
    const again = () => {
      if (isGenuine && tries > 1) this.world.after(700, () => this._send(action, tries - 1))
    }
    if (tries === 5) this.#underWay++
    const over = () => this.#underWay--
    if (ready.length === 0) {
      if (isGenuine && tries > 1) return again()
      return over()
    }
    const { program, process } = this.#random.one(ready)
    const signedAtMs = this.#signatureTime(action)
    const sent = { ...action, signedAt: new Date(signedAtMs).toUTCString() }
    sent.known = this.judge.knows(sent)
    this.judge.sends(sent)
    const request = requestOf(action, signedAtMs)
    let isAnswered = false
    const answered = (answer) => {
      if (isAnswered) return
      isAnswered = true
      this.judge.answered(sent, answer, process)
      const isAccepted = answer !== undefined && answer.status < 500 && answer.status !== 409
      if (!isAccepted && isGenuine && tries > 1) again()
      else over()
    }
    this.world.note(process.name, `receives #${callback.number} (${as})`)
    program.receive(request).then(answered, (error) => this.judge.fault(`receive() rejected: ${error.stack}`))
    this.world.after(10_000, () => answered(undefined))
  }

  #signatureTime({ callback, as }) {
    const now = this.#service.now()
    if (as === 'new' || !this.#signedAt.has(callback.number)) {
      if (!this.#signedAt.has(callback.number)) this.#signedAt.set(callback.number, now)
    }
    if (as === 'signed-anew') this.#signedAnewAt.set(callback.number, now)
    const signedAt = this.#signedAt.get(callback.number)
    return ['signed-anew', 'replay-anew'].includes(as)
      ? (this.#signedAnewAt.get(callback.number) ?? signedAt)
      : signedAt
  }

  _kill({ process: place, forMs }) {
    const { process } = this.#places[place]
    if (process.isDead) return
    this.world.note(process.name, 'is killed')
    process.kill()
    this.judge.trouble(process, forMs)
    this.world.after(forMs, () => this.#start(place))
  }

  _stop({ process: place, forMs, lingersMs = 0 }) {
    const at = this.#places[place]
    if (at.process.isDead || at.stops) return
    at.process.stops = true
    this.world.note(at.process.name, 'stops')
    this.judge.trouble(at.process, forMs)
    at.isReady = false
    at.stops = true
    let isOver = false
    const gone = () => {
      if (isOver) return
      isOver = true
      this.world.note(at.process.name, 'has stopped')
      at.process.stoppedAt = this.world.time
      this.world.after(lingersMs, () => {
        at.process.kill()
        this.world.after(forMs, () => this.#start(place))
      })
    }
    at.program.stop().then(gone, gone)
    // What starts it has no patience without end.
    this.world.after(30_000, gone)
  }

  _pause({ process: place, forMs }) {
    const { process } = this.#places[place]
    if (process.isDead) return
    this.world.note(process.name, `is paused for ${forMs.toFixed(0)} ms`)
    process.pause(forMs)
    this.judge.trouble(process, forMs)
  }

  _clock({ process: place, byMs }) {
    const { leaseMs } = this.#plan.settings
    if (place !== undefined && !this.#file) {
      const at = this.#places[place]
      this.world.note(at.process.name, `its clock is set by ${byMs} ms`)
      at.process.setClock(byMs)
      at.setByMs += byMs
      return this.judge.trouble(at.process, leaseMs)
    }
    this.world.note('server', `its clock is set by ${byMs} ms`)
    this.#server.setClock(byMs)
    this.judge.clockIsSet()
    // The begin of a run may have been recorded before, and its handlers begin after it.
    this.judge.trouble(undefined, leaseMs)
  }

  _database(action) {
    this.#breaks('database', this.#postgres ?? this.#database, action)
  }

  _file(action) {
    this.#breaks('file', this.#file, action)
  }

  #breaks(name, target, { faults, forMs }) {
    this.world.note(name, `${JSON.stringify(faults)} for ${forMs.toFixed(0)} ms`)
    Object.assign(target.faults, faults)
    const isBrief = !this.#postgres && ['fails', 'loses', 'locked', 'full'].some((fault) => faults[fault])
    this.judge.trouble(undefined, forMs + 10_000, isBrief ? forMs : undefined)
    this.#underWay++
    this.world.after(forMs, () => {
      for (const fault of Object.keys(faults)) target.faults[fault] = 0
      this.#underWay--
    })
  }

  /** An operator looks at the entries, and decides about one of them. */
  async _decide({ action, entry, again, fits }) {
    const { seed } = this.#plan
    const process = new Process(this.world, `operator ${++this.#operators}`, { seed })
    if (this.#file) process.machine = this.#server
    const engine = this.#engineFor(process)
    process.decision = { action, again }
    this.#underWay++
    try {
      await engine.open()
      const { entries } = await engine.list({}, {})
      const id = entry === undefined ? this.#decidedLast : chosen(entries, entry, fits && FITS[action])?.id
      if (id !== undefined) {
        const result = await engine.act(id, action, { by: 'operator', again })
        if (result.done) this.#decidedLast = id
        this.world.note(process.name, `${action} of entry ${id}: ${result.done ? 'done' : result.code}`)
      }
      await engine.close()
    } catch (error) {
      this.world.note(process.name, `${action}: ${error.message}`)
      // Every fault of an inbox has a code.
      if (error.code === undefined) this.judge.fault(`${action} was rejected: ${error.message}`)
    }
    process.kill()
    this.#underWay--
  }
}

/** In which states an action does something. */
const FITS = {
  retry: ['dead', 'handled', 'retrying'],
  release: ['quarantined'],
  discard: ['dead', 'stored', 'retrying', 'unhandled', 'quarantined'],
  undo: ['stored', 'retrying', 'unhandled', 'discarded'],
}

function chosen(entries, which, states) {
  const fitting = states ? entries.filter(({ state }) => states.includes(state)) : []
  const among = fitting.length > 0 ? fitting : entries
  return among[Math.floor(which * among.length)]
}

function retentionOf({ retentionMs }) {
  return retentionMs === undefined ? {} : { retentionMs, discardedRetentionMs: retentionMs }
}
