import { EventEmitter } from 'node:events'
import { setTimeout as nap } from 'node:timers/promises'
import pg from 'pg'
import { TABLES } from '../../dist/inbox/postgres/schema.js'
import { migrationSql } from '../../dist/postgres.js'
import { loadSupport } from '../support/load-support.mjs'
import { LostAnswerError, travelMs } from './database.mjs'

export const SCHEMA = 'simulated'
/** How many handlers may have a transaction at the same time. */
export const MAX_TRANSACTIONS = 2
/** Four are reserved. */
const MAX_CONNECTIONS = 4 + MAX_TRANSACTIONS

/** What a handler writes in its transaction. */
export const WRITE_EFFECT = 'INSERT INTO public.effects (entry_id) VALUES ($1::bigint)'

let started

/** The server of this process. Every schedule has it empty. */
export function startPostgres() {
  return (started ??= Server.start())
}

export async function stopPostgres() {
  await (await started)?.stop()
}

export function hasPostgres() {
  return loadSupport('postgres-server.ts').hasPostgres
}

/** A real server, and sessions that are used again: to begin one takes longer than any statement. */
class Server {
  /** By which the simulation itself looks and acts. */
  #own
  #server
  #connectionString
  #free = []
  #now

  static async start() {
    const { PostgresServer, QUICK_SETTINGS, hasPostgres } = loadSupport('postgres-server.ts')
    if (!hasPostgres) throw new Error('PostgreSQL is not installed')
    const server = new Server()
    // Whoever waits for a lock looks for deadlocks before anything else happens. Nothing goes on at a time that is not decided.
    server.#server = await PostgresServer.start([
      ...QUICK_SETTINGS,
      'deadlock_timeout = 1',
      'autovacuum = off',
    ])
    server.#connectionString = await server.#server.createDatabase()
    server.#own = new pg.Client(server.#connectionString)
    await server.#own.connect()
    await server.#own.query(migrationSql(SCHEMA))
    await server.#own.query(PREPARE)
    return server
  }

  async stop() {
    await Promise.all([this.#own, ...this.#free.map(({ client }) => client)].map((client) => client.end()))
    await this.#server.remove()
  }

  query(sql, values) {
    return this.#own.query(sql, values)
  }

  /** Nothing is stored, and ids begin anew. */
  async empty() {
    await this.query(EMPTY)
  }

  /** What `now_ms()` returns in every session, also in one whose statement has begun. */
  async setClock(now) {
    if (now !== this.#now) await this.query('SELECT setval($1, $2)', ['public.clock', now])
    this.#now = now
  }

  async session() {
    const free = this.#free.pop()
    if (free) return free
    const client = new pg.Client(this.#connectionString)
    const session = { client, isGone: false }
    session.gone = new Promise((resolve) => {
      const onGone = () => {
        session.isGone = true
        resolve()
      }
      client.on('error', onGone)
      client.on('end', onGone)
    })
    await client.connect()
    session.pid = client.processID
    return session
  }

  /** Ends a session for whoever had it. */
  async giveBack(session) {
    if (session.isGone) return
    await session.client.query('ROLLBACK; UNLISTEN *')
    this.#free.push(session)
  }

  /** The statement of the session fails as if its time were over. */
  async cancel(session) {
    await this.query('SELECT pg_cancel_backend($1)', [session.pid])
  }

  /** Whether the session waits for another one. */
  async waits(session) {
    const { rows } = await this.query('SELECT cardinality(pg_blocking_pids($1)) > 0 AS waits', [session.pid])
    return rows[0].waits
  }

  async entries() {
    const { rows } = await this.query(ENTRIES)
    return rows.map(({ type, due_at: dueAt, due_set_at: dueSetAt, effects, decisions, copies, ...row }) => ({
      id: row.id,
      idempotencyKey: row.idempotency_key,
      bodyId: row.body_id ?? undefined,
      // No worker has a handler for the other types.
      state: WAITS.includes(row.state) && type !== 'transfer' ? 'unhandled' : row.state,
      dueAt: dueAt ?? undefined,
      dueSetAt: dueSetAt ?? undefined,
      signedAt: Number(row.signed_at),
      token: row.token,
      copies,
      decisions,
      effects,
    }))
  }
}

const WAITS = ['stored', 'retrying']

// The clock is a sequence: what is set is in force at once, in every session, and needs no commit.
const PREPARE = `
  CREATE SEQUENCE public.clock;
  CREATE OR REPLACE FUNCTION ${SCHEMA}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT last_value FROM public.clock';
  CREATE TABLE public.effects (entry_id bigint NOT NULL)`

const EMPTY = `
  TRUNCATE ${TABLES.map((table) => `${SCHEMA}.${table}`).join(', ')}, public.effects RESTART IDENTITY;
  ALTER SEQUENCE ${SCHEMA}.entries_id RESTART`

const ENTRIES = `
  SELECT entries.id, idempotency_key, body_id, coalesce(event_type, subscribed_type) AS type, signed_at, state, token, due_at, due_set_at,
    coalesce((SELECT number FROM ${SCHEMA}.copies WHERE copies.id = entries.id), 0) AS copies,
    (SELECT count(*)::integer FROM ${SCHEMA}.history WHERE entry_id = entries.id) AS decisions,
    (SELECT count(*)::integer FROM public.effects WHERE entry_id = entries.id) AS effects
  FROM ${SCHEMA}.entries JOIN (
    SELECT id, state, token, CASE WHEN ready THEN due_at END AS due_at, due_set_at FROM ${SCHEMA}.due
    UNION ALL SELECT id, state, token, NULL, NULL FROM ${SCHEMA}.ended
  ) AS states USING (id) JOIN ${SCHEMA}.sources ON sources.id = source ORDER BY entries.id`

/** The database of a world: each statement of a process arrives at the server, and its answer at the process, in the order of the world. */
export class SimulatedPostgres {
  /** How probable each fault is now: set by the plan. */
  faults = { fails: 0, loses: 0, conflicts: 0, full: 0, slowMs: 0 }
  #world
  #random
  #server
  #clock
  #callsOf
  #committed
  #takesEffect
  #connections = new Set()
  /** Statements that have arrived and not ended, because they wait for a lock. */
  #waiting = new Set()
  #effects = new Map()

  /**
   * `clock` has the time of the server. `callsOf` returns the calls of a process that are under way. `committed` is called after commits with their
   * processes, their calls and the entries, `takesEffect` with the process and the entry whose effect it had.
   */
  constructor(world, random, { server, clock, callsOf, committed, takesEffect }) {
    this.#world = world
    this.#random = random
    this.#server = server
    this.#clock = clock
    this.#callsOf = callsOf
    this.#committed = committed
    this.#takesEffect = takesEffect
  }

  /** The pool of a process, as the package pg has it, whose connections are those of this world. */
  poolOf(process) {
    const connections = this.#connections
    const parts = {
      world: this.#world,
      travelMs: () => travelMs(this.#random, this.faults.slowMs),
      happens: (fault) => this.#random.happens(this.faults[fault]),
      noticesAfterMs: () => this.#random.one([0, 0, 300, 3_000]),
      session: () => this.#server.session(),
      calls: () => this.#callsOf(process),
      arrives: (connection, statement) => this.#arrives(connection, statement),
      leaves: (connection) => this.#leaves(connection),
    }
    class Client extends Connection {
      constructor() {
        super(process, parts)
        connections.add(this)
      }
    }
    const { atDeath } = process
    process.atDeath = () => {
      atDeath()
      for (const connection of connections) if (connection.process === process) connection.dies()
    }
    return new pg.Pool({ Client, max: MAX_CONNECTIONS, idleTimeoutMillis: 0 })
  }

  async entries() {
    return this.#server.entries()
  }

  /** Leaves no session with anything begun. */
  async end() {
    for (const { session } of this.#connections) {
      if (!session) continue
      if (session.running) {
        await this.#server.cancel(session)
        await session.running.ended
      }
      await this.#server.giveBack(session)
      session.running = undefined
    }
  }

  /** Carries out a statement until it ends, or waits for another session. */
  async #arrives(connection, statement) {
    const { session } = connection
    await this.#server.setClock(this.#clock())
    for (const call of statement.calls) connection.calls.add(call)
    const cancelled = this.#cancelledBy(statement)
    const open = [...this.#connections].filter(({ session }) => session && !session.isGone)
    const fault = ['conflicts', 'full'].find((each) => statement.fails === each)
    const [text, values] = fault ? [FAILURES[fault]] : withoutLimits(session, statement)
    const running = { connection, statement, text }
    session.running = running
    running.ended = session.client.query(text, values).then(
      (result) => ({ result }),
      (error) => ({ error }),
    )
    const outcome = await this.#endOrWait(running, true)
    if (!outcome) this.#waits(running)
    const isTerminating = statement.text.includes('pg_terminate_backend') && outcome?.result?.rowCount > 0
    if (isTerminating) await this.#terminated(open)
    for (const other of cancelled) await other.ended
    await this.#goOn(outcome && [running, outcome], isTerminating || cancelled.length > 0)
  }

  /** A session ends, whose transaction a process has asked to end. */
  async #terminated(open) {
    await Promise.race(open.map(({ session }) => session.gone))
    for (const connection of open)
      if (connection.session.isGone && !connection.session.running) connection.isTerminated()
  }

  /** Resolves to how it ended, or to undefined once it is known that it waits for another session. */
  async #endOrWait(running, isNew) {
    for (let waited = isNew ? 0 : 1; ;) {
      const outcome = await Promise.race([running.ended, nap(waited === 0 ? 4 : 1)])
      if (outcome) return outcome
      // Twice: at first it may not have looked for a deadlock yet.
      waited = (await this.#server.waits(running.connection.session)) ? waited + 1 : 1
      if (waited === 3) return undefined
    }
  }

  #waits(running) {
    const { session } = running.connection
    this.#waiting.add(running)
    const { lock_timeout: lockMs = 0, statement_timeout: statementMs = 0 } = session.limits
    const limits = [lockMs, statementMs].filter((ms) => ms > 0)
    if (limits.length === 0) return
    this.#world.after(Math.min(...limits), () => {
      if (!this.#waiting.has(running)) return
      running.code = Math.min(...limits) === lockMs ? '55P03' : '57014'
      const cancelling = this.#server.cancel(session).then(() => running.ended)
      this.#world.meanwhile(cancelling.then(() => this.#goOn()))
    })
  }

  /**
   * A statement has ended, or a session: what waited for the locks that this has released goes on. All that was committed by then is
   * seen at once, as it is not known which of them came first.
   */
  async #goOn(first, isReleased = first === undefined) {
    const ended = first ? [first] : []
    const isOver = ({ connection: { session } }) =>
      session.isGone || session.client.getTransactionStatus() === 'I'
    for (let isAny = isReleased || (first && isOver(first[0])); isAny;) {
      isAny = false
      for (const running of this.#waiting) {
        const outcome = await this.#endOrWait(running, false)
        if (!outcome) continue
        isAny = true
        this.#waiting.delete(running)
        if (running.code && outcome.error)
          outcome.error = Object.assign(new Error('a lock was not released in time'), { code: running.code })
        ended.push([running, outcome])
      }
    }
    const over = ended.map(([running]) => running).filter(isOver)
    if (over.length > 0) await this.#look(over.map(({ connection }) => connection))
    for (const { connection } of over) {
      connection.session.limits = {}
      connection.calls.clear()
    }
    for (const [{ connection, statement }, outcome] of ended) {
      connection.session.running = undefined
      if (!outcome.error) this.#notifies(connection, statement.text)
      connection.answers(outcome)
    }
  }

  async #look(connections) {
    const entries = await this.#server.entries()
    const [process] = connections.map(({ process }) => process)
    const calls = new Set(connections.flatMap(({ calls }) => [...calls]))
    this.#committed(
      connections.map(({ process }) => process),
      [...calls],
      entries,
    )
    for (const { id, effects } of entries) {
      for (let effect = this.#effects.get(id) ?? 0; effect < effects; effect++) this.#takesEffect(process, id)
      this.#effects.set(id, effects)
    }
  }

  #notifies(connection, text) {
    const [, verb, channel] = /\b(LISTEN|NOTIFY) (\w+)/.exec(text) ?? []
    if (verb === 'LISTEN') connection.channel = channel
    if (verb !== 'NOTIFY') return
    for (const other of this.#connections) if (other.channel === channel) other.notified(channel)
  }

  /** What waits and is cancelled by a statement, which names it by its first words. */
  #cancelledBy({ text, values }) {
    if (!text.includes('pg_cancel_backend')) return []
    return [...this.#waiting].filter((running) => running.text.startsWith(values[0].slice(0, -1)))
  }

  /** The server has noticed that a connection has ended. */
  async #leaves(connection) {
    const { session } = connection
    this.#connections.delete(connection)
    connection.session = undefined
    await this.#server.giveBack(session)
    await this.#goOn()
  }
}

/** The limits of the server are in its own time: here they are in that of the world. */
function withoutLimits(session, { text, values }) {
  session.limits ??= {}
  const limit = (_, name, ms) => {
    session.limits[name] = Number(ms)
    return `set_config('${name}', '0', true)`
  }
  const sent = text.replaceAll(/set_config\('(\w+_timeout)', '(\d+)', true\)/g, limit)
  if (!LEASE_FUNCTION.test(text)) return [sent, values]
  session.limits.lock_timeout = values.at(-1)
  return [sent, [...values.slice(0, -1), 0]]
}

const LEASE_FUNCTION = new RegExp(`SELECT \\* FROM "${SCHEMA}"\\.\\w+\\(`)

/** A transaction was undone in favour of another one; the disk is full. */
const FAILURES = {
  conflicts: "DO $$ BEGIN RAISE EXCEPTION 'simulated' USING ERRCODE = 'serialization_failure'; END $$",
  full: "DO $$ BEGIN RAISE EXCEPTION 'simulated' USING ERRCODE = 'disk_full'; END $$",
}

/** A client of the package pg, as its pool uses it, on the way through this world. */
class Connection extends EventEmitter {
  /** What the pool looks at. */
  _queryable = true
  _ending = false
  process
  /** At the server. */
  session
  /** The calls of the process that have had a part in the transaction that is open. */
  calls = new Set()
  #parts
  #queue = []
  #isSent = false
  #isLost = false
  #isLeaving = false
  #answered = 0
  #status = 'I'

  constructor(process, parts) {
    super()
    this.process = process
    this.#parts = parts
  }

  connect(callback) {
    const { world, happens, session, travelMs } = this.#parts
    const fails = happens('fails')
    world.after(travelMs(), () => {
      if (fails) return world.after(travelMs(), () => callback(new LostAnswerError('refused')), this.process)
      const connecting = session().then((session) => {
        this.session = session
        session.limits = {}
        if (this.process.isDead) this.#leaves()
        world.after(travelMs(), () => callback(), this.process)
      })
      world.meanwhile(connecting)
    })
  }

  query(text, values) {
    if (this.#isLost || this._ending) return Promise.reject(new LostAnswerError('not queryable'))
    return new Promise((resolve, reject) => {
      // Now, as the process may have given them up when the statement arrives, which is carried out nevertheless.
      this.#queue.push({ text, values, calls: this.#parts.calls(), resolve, reject })
      if (this.#queue.length === 1) this.#send()
    })
  }

  #send() {
    const { world, happens, travelMs, arrives } = this.#parts
    const [statement] = this.#queue
    if (happens('fails')) return this.#cut()
    statement.fails = ['conflicts', 'full'].find((fault) => happens(fault))
    this.#isSent = true
    // What was sent arrives also when its process has died.
    world.after(travelMs(), () => world.meanwhile(arrives(this, statement)))
  }

  answers({ result, error }) {
    const { world, happens, travelMs } = this.#parts
    this.#isSent = false
    if (this.#isLeaving) return this.#leaves()
    if (this.session.isGone || happens('loses')) return this.#cut()
    this.#watchIdle(++this.#answered)
    const status = this.session.client.getTransactionStatus()
    const answer = () => {
      if (this.#isLost) return
      this.#status = status
      const { resolve, reject } = this.#queue.shift()
      if (this.#queue.length > 0) this.#send()
      if (error) reject(error)
      else resolve(result)
    }
    world.after(travelMs(), answer, this.process)
  }

  /** The server ends a session that keeps a transaction open and sends nothing. */
  #watchIdle(answered) {
    const limitMs = this.session.limits.idle_in_transaction_session_timeout
    if (!limitMs) return
    this.#parts.world.after(limitMs, () => {
      if (this.#isSent || this.#answered !== answered || !this.session) return
      this.#leaves()
      this.#cut()
    })
  }

  getTransactionStatus() {
    return this.#status
  }

  isTerminated() {
    this.#cut()
  }

  notified(channel) {
    const { world, travelMs } = this.#parts
    world.after(travelMs(), () => this.#isLost || this.emit('notification', { channel }), this.process)
  }

  /** Neither side hears of the other any more. The server may notice it late. */
  #cut() {
    if (this.#isLost) return
    const { world, travelMs, noticesAfterMs } = this.#parts
    this.#isLost = true
    world.after(noticesAfterMs(), () => this.#leaves())
    world.after(travelMs(), () => this.#ends(new LostAnswerError('the connection was lost')), this.process)
  }

  #ends(error) {
    this._queryable = false
    for (const { reject } of this.#queue.splice(0)) reject(error ?? new LostAnswerError('ended'))
    if (error) this.emit('error', error)
    this.emit('end')
  }

  end(callback = () => {}) {
    const { world, travelMs } = this.#parts
    this._ending = true
    const ended = () => {
      if (!this.#isLost) this.#ends()
      this.#isLost = true
      callback()
    }
    if (!this.#isLost) world.after(travelMs(), () => this.#leaves())
    world.after(travelMs(), ended, this.process)
  }

  dies() {
    const { world, travelMs } = this.#parts
    world.after(travelMs(), () => this.#leaves())
  }

  /** The server ends the session once it has carried out what has arrived. */
  #leaves() {
    if (this.#isSent) return void (this.#isLeaving = true)
    if (!this.session) return
    const { world, leaves } = this.#parts
    world.meanwhile(leaves(this))
  }
}
