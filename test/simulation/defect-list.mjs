// The defects that `npm run simulate -- --defects` introduces, one at a time. `inbox`: the only one that the defect concerns.
import { POSTGRES_DEFECTS } from './defect-list-postgres.mjs'

const WORKER = 'worker/worker.ts'
const ATTEMPT = 'worker/attempt.ts'
const RECORDS = 'worker/claim-records.ts'
const LEASES = 'worker/leases.ts'
const CLAIMER = 'worker/claimer.ts'
const SCHEDULE = 'worker/claim-schedule.ts'
const SQLITE_CLAIMS = 'inbox/sqlite/claims.ts'
const SQLITE_ADD = 'inbox/sqlite/add.ts'
const MEMORY_CLAIMS = 'inbox/memory/claims.ts'
const MEMORY_UNFINISHED = 'inbox/memory/unfinished-entries.ts'
const MEMORY_KNOWN = 'inbox/memory/known-callbacks.ts'
const memory = { inbox: 'memory' }
const sqlite = { inbox: 'sqlite' }

const WAKE_UPS = [
  [
    'a stored callback wakes no worker',
    WORKER,
    'this.#schedule.stored()\n    this.#look()',
    'this.#schedule.stored()',
  ],
  [
    'a slot that becomes free wakes no worker',
    WORKER,
    'this.#slotIsFree()\n        else this.wake()',
    'void 0',
  ],
  ['the end of an ordered entry wakes no worker', WORKER, 'else this.wake()', 'else this.#slotIsFree()'],
  ['what wakes the worker while it claims is forgotten', WORKER, 'if (this.#awake) return', ''],
  [
    'a worker that pauses is not woken',
    WORKER,
    'this.#awake = true\n    this.#wakeUp()',
    'this.#awake = true',
  ],
  [
    'the worker does not know when the next entry is due',
    CLAIMER,
    'Math.min(pollMs, Math.max(nextDueInMs, 1))',
    'pollMs',
  ],
  [
    'the inbox does not say when the next entry is due',
    SQLITE_CLAIMS,
    'nextDueInMs: next && next.due_at - now',
    'nextDueInMs: undefined',
    sqlite,
  ],
  [
    'the slot that was lent to a repeat stays taken',
    WORKER,
    'this.#lentSlots.takeBack(slot)\n    this.#slotIsFree()',
    '',
  ],
  ['interrupted entries are not asked for', SCHEDULE, '!interrupted && interruptedIsDue', 'false'],
  [
    'interrupted entries are asked for, and others never again',
    SCHEDULE,
    'this.#interruptedIsNext = !interrupted && interruptedIsDue',
    'this.#interruptedIsNext ||= interruptedIsDue',
  ],
  [
    'an arrival begins although no slot is free',
    SCHEDULE,
    '#claiming < this.freeSlots(slots)',
    '#claiming <= this.freeSlots(slots)',
  ],
  ['a worker claims more than it has slots for', SCHEDULE, 'concurrency - running + (', 'concurrency + ('],
  ['an entry that is claimed again takes no slot', WORKER, 'if (held) this.#recording.delete(held)', ''],
]

const FENCING = [
  [
    'the end of an entry is recorded for any claim',
    SQLITE_CLAIMS,
    'WHERE id = ?7 AND token = ?8',
    'WHERE id = ?7 AND ?8 = ?8',
    sqlite,
  ],
  [
    'begins, renewals and ends are recorded for any claim',
    MEMORY_CLAIMS,
    "=== 'running' && entry.token === token",
    "=== 'running'",
    memory,
  ],
  [
    'the begin of an entry is recorded for any claim',
    SQLITE_CLAIMS,
    'WHERE id = ?3 AND token = ?4 AND',
    'WHERE id = ?3 AND ?4 = ?4 AND',
    sqlite,
  ],
  [
    'a lease is renewed for any claim',
    SQLITE_CLAIMS,
    'due_set_at = ? WHERE id = ? AND token = ?',
    'due_set_at = ? WHERE id = ? AND ? > 0',
    sqlite,
  ],
  ['a claim that was lost begins', ATTEMPT, "if (start === 'lost') return { end: { move: 'handBack' } }", ''],
  [
    'a claim has the token of the claim before it',
    SQLITE_CLAIMS,
    'token = token + 1',
    'token = token',
    sqlite,
  ],
  ['a claim in memory has the token of the claim before it', MEMORY_CLAIMS, 'entry.token++\n', '\n', memory],
  ['what a process claims again runs beside itself', WORKER, 'if (held) {', 'if (held && held.lost) {'],
  [
    'what an operator has retried is ended by the run before',
    WORKER,
    'if (held && isRetried(held.entry, entry)) {',
    'if (false) {',
  ],
  [
    'handlers go on after their lease was lost',
    LEASES,
    "abortRun(run, new Error('the lease of this entry was lost: another worker handles it'))",
    'void 0',
  ],
  [
    'handlers go on although their lease runs out',
    LEASES,
    "abortRun(run, new Error('the lease of this entry runs out and could not be renewed'))",
    'void 0',
  ],
]

const LEASES_AND_ATTEMPTS = [
  [
    'a claim ignores leases',
    SQLITE_CLAIMS,
    'AND event_type = ? AND due_at <= ?',
    "AND event_type = ? AND (due_at <= ? OR state = 'running')",
    sqlite,
  ],
  [
    'a claim in memory ignores leases',
    MEMORY_CLAIMS,
    'dueAt! <= now)\n    .sort',
    'dueAt! <= now || true)\n    .sort',
    memory,
  ],
  [
    'a claim has no lease until its handlers begin',
    SQLITE_CLAIMS,
    '(CLAIM, now + leaseMs, now, id, interrupted ? 0 : beginBelow)',
    '(CLAIM, now, now, id, interrupted ? 0 : beginBelow)',
    sqlite,
  ],
  [
    'a claim in memory has no lease until its handlers begin',
    MEMORY_CLAIMS,
    'setDue(entry, now, leaseMs)\n  attemptWasInterrupted',
    'setDue(entry, now, 0)\n  attemptWasInterrupted',
    memory,
  ],
  ['leases are not renewed', LEASES, 'if (claims.length === 0) return', 'if (claims.length >= 0) return'],
  [
    'a begin ends the lease',
    SQLITE_CLAIMS,
    'RENEW[how], now + leaseMs,',
    "RENEW[how], how === 'begin' ? now : now + leaseMs,",
    sqlite,
  ],
  [
    'handlers have no time limit',
    'handlers/dispatcher.ts',
    'const cancel = deadline(timeoutMs, onLate, { environment })',
    'const cancel = () => {}',
  ],
  [
    'an entry begins when its begin was recorded too late',
    RECORDS,
    'environment.monotonic() > run.begunAt + leaseMs / 2',
    'false',
  ],
  [
    'an arrival begins although its lease may have ended',
    ATTEMPT,
    'return isAborted || environment.monotonic() > begunAt + leaseMs / 2 ?',
    'return isAborted ?',
  ],
  [
    'an aborted handler that goes on is not waited for',
    ATTEMPT,
    'if (leftMs > 0) {',
    'if (leftMs > Infinity) {',
  ],
  [
    'an entry that was claimed and had not begun is not claimed again',
    SQLITE_CLAIMS,
    "'ready = 1 AND begun_by = 0'",
    '"ready = 1 AND begun_by = 0 AND state <> \'running\'"',
    sqlite,
  ],
  [
    'an interrupted entry is not claimed again',
    SQLITE_CLAIMS,
    "'ready = 1 AND begun_by > 0'",
    "'ready = 1 AND begun_by < 0'",
    sqlite,
  ],
  [
    'the begin of an entry is not recorded',
    SQLITE_CLAIMS,
    'attempts = attempts + (attempts < ?4)',
    'attempts = attempts',
    sqlite,
  ],
  [
    'an entry is dead before its last attempt',
    ATTEMPT,
    'attempts >= parts.maxAttempts ||',
    'attempts >= parts.maxAttempts - 1 ||',
  ],
  ['entries are tried for ever', ATTEMPT, 'attempts >= parts.maxAttempts ||', ''],
  [
    'attempts that nobody ended do not count',
    ATTEMPT,
    'if (entry.attempt > parts.maxAttempts) {',
    'if (false) {',
  ],
  ['a failed entry is tried again at once', ATTEMPT, 'parts.isAborted() ? 0 :', 'true ? 0 :'],
  [
    'a stopped worker takes what it cannot handle',
    WORKER,
    'if (this.#aborted) this.#claimer.handBack(entries)\n      else for',
    'for',
  ],
]

const CLOCKS = [
  [
    'a step back of the clock is not noticed',
    'inbox/inbox-clock.ts',
    'if (now < this.#latest) {',
    'if (now < -1) {',
  ],
  [
    'due times in memory are not corrected after a step back',
    MEMORY_UNFINISHED,
    'if (entry.dueSetAt <= now) continue',
    'continue',
    memory,
  ],
  [
    'due times are not corrected after a step back',
    SQLITE_CLAIMS,
    'if (latest! > now) db.run(SET_ANEW, now, state, Number(id), last)',
    '',
    sqlite,
  ],
  [
    'only a clock that a process itself has seen set back is corrected',
    'inbox/sqlite/sqlite-inbox.ts',
    'if (isSetAhead) this.#clock.isBehind()',
    '',
    sqlite,
  ],
  [
    'a correction stops after one kind of entries',
    SQLITE_CLAIMS,
    'if (last === null) continue',
    'if (last === null) return { aheadMs }',
    sqlite,
  ],
  [
    'what a clock that was ahead has written before the start is not corrected',
    'inbox/inbox-clock.ts',
    '#steps = 1',
    '#steps = 0',
  ],
  [
    'leases that a step of the clock has ended are taken at once',
    CLAIMER,
    'this.#noInterruptedUntil = environment.monotonic() + leaseMs',
    '',
  ],
  [
    'ages are measured by the clock of the inbox alone',
    'inbox/retention.ts',
    'Math.min(now, latestSignedAt) - ',
    'now - ',
  ],
]

const ORDER = [
  [
    'the next entry of an order key is not promoted',
    SQLITE_CLAIMS,
    'if (ended && ended.order_key !== null) promoteNext(db, ended.order_key)',
    '',
    sqlite,
  ],
  [
    'an entry is promoted beside one that runs',
    'inbox/sqlite/order.ts',
    "if (ready?.state === 'running') return",
    '',
    sqlite,
  ],
  [
    'an entry in memory is promoted beside one that runs',
    MEMORY_UNFINISHED,
    "if (entries.some(({ state, isReady }) => isReady && state === 'running')) return",
    '',
    memory,
  ],
  [
    'the latest entry of an order key comes first',
    'inbox/sqlite/order.ts',
    'ORDER BY id LIMIT 1',
    'ORDER BY id DESC LIMIT 1',
    sqlite,
  ],
  [
    'the latest entry of an order key in memory comes first',
    MEMORY_UNFINISHED,
    'a.sequence < b.sequence',
    'a.sequence > b.sequence',
    memory,
  ],
  [
    'ordered arrivals begin at once',
    MEMORY_CLAIMS.replace('claims', 'add'),
    '|| arrival.orderKey !== undefined',
    '',
    memory,
    [WORKER, 'orderKey === undefined &&', ''],
  ],
  [
    'ordered entries are ready at once',
    SQLITE_ADD,
    "state !== 'quarantined' && orderKey === undefined ? 1 : 0",
    "state !== 'quarantined' ? 1 : 0",
    sqlite,
  ],
  [
    'a retry of an operator ignores the order',
    'inbox/sqlite/act.ts',
    'ready = order_key IS NULL, replayed = 1',
    'ready = 1, replayed = 1',
    sqlite,
  ],
]

const DEDUP = [
  [
    'repeats are not recognised by their key',
    SQLITE_ADD,
    'key_hash: keyHash,',
    'key_hash: Buffer.from(crypto.randomUUID()),',
    sqlite,
  ],
  [
    'repeats in memory are not recognised by their key',
    MEMORY_KNOWN,
    'this.#byKey.get(key)\n    const signed',
    'undefined as MemoryEntry | undefined\n    const signed',
    memory,
  ],
  [
    'replays in memory are not recognised by their signature',
    MEMORY_KNOWN,
    'const signed = this.#bySignature.get(signature)',
    'const signed = known',
    memory,
  ],
  [
    'replays are not recognised by their signature',
    SQLITE_ADD,
    "signature: !signed ? 'unknown'",
    "signature: signed ? 'unknown'",
    sqlite,
  ],
  [
    'the signature of a repeat is not remembered',
    MEMORY_KNOWN,
    'this.#bySignature.set(signature, entry)\n  }\n\n  quarantined',
    '}\n\n  quarantined',
    memory,
  ],
  [
    'the signature of a repeat is not stored',
    SQLITE_ADD,
    'newSignature.signature,\n',
    'Buffer.from(crypto.randomUUID()),\n',
    sqlite,
  ],
  [
    'another body under a known key is a repeat',
    'callback/recognition.ts',
    "if (key === 'other-body') return 'conflict'",
    "if (key === 'other-body') return 'duplicate'",
  ],
  [
    'a suspect callback is stored as a new one',
    'callback/recognition.ts',
    "if (isSuspect) return 'suspicion'",
    '',
  ],
  [
    'a forged callback is verified',
    'signature/verify.ts',
    'if (timingSafeEqual(expected, received)) matched',
    'matched',
  ],
  [
    'the event type in the header is believed',
    'callback/authenticate.ts',
    "if (type !== eventTypeName) return 'ERR_EVENT_TYPE_MISMATCH'",
    '',
  ],
]

const PRUNE = [
  [
    'entries are deleted at once',
    'inbox/retention.ts',
    ' - Math.max(olderThanMs, retentionOf(state, retention))',
    '',
  ],
  [
    'dead entries are deleted',
    'inbox/states.ts',
    "PRUNABLE = ['handled', 'discarded']",
    "PRUNABLE = ['handled', 'discarded', 'dead']",
  ],
  [
    'all ended entries in memory are deleted',
    'inbox/memory/prune.ts',
    'entry.state === state',
    'entry.finishedAt !== undefined',
    memory,
  ],
  [
    'all ended entries are deleted',
    'inbox/sqlite/prune.ts',
    'WHERE state = ?1 AND finished_at < ?2',
    "WHERE ?1 <> '' AND finished_at < ?2",
    sqlite,
  ],
  ['what was deleted is forgotten', 'inbox/sqlite/prune.ts', 'db.run(RECORD_DELETED, id)', '', sqlite],
  [
    'what was deleted in memory is forgotten',
    MEMORY_KNOWN,
    'this.#deletedUpTo = Math.max(this.#deletedUpTo, entry.latestSignedAt)',
    '',
    memory,
  ],
  [
    'a repeat does not prolong how long its entry is kept',
    SQLITE_ADD,
    "db.run('UPDATE entries SET finished_at = max(finished_at, ?) WHERE id = ?', now, knownId)",
    '',
    sqlite,
  ],
]

const UNDO = [
  [
    'a decision is taken back after a worker has claimed the entry',
    'inbox/undo.ts',
    'entry.token !== before.token || entry.state !== MOVES[action].to',
    'false',
  ],
  [
    'an entry that is restored is never due',
    'inbox/undo.ts',
    'dueAt: dueAt === null ? null : setAt + (dueAt - dueSetAt)',
    'dueAt: null as number | null',
  ],
  [
    'a decision is taken back twice',
    'inbox/undo.ts',
    "if (!latest?.before || latest.action === 'undo')",
    'if (!latest?.before)',
    memory,
    [
      'inbox/memory/operator.ts',
      'entry.history.push({ record })',
      'entry.history.push({ record, before: entryBefore(entries, entry) })',
    ],
  ],
  [
    'an undo restores another state',
    'inbox/sqlite/act.ts',
    'before.state,\n    before.eventType',
    "'dead',\n    before.eventType",
    sqlite,
  ],
  [
    'a release is taken back although repeats rely on it',
    'inbox/undo.ts',
    'if (entry.known !== before.known && isRepeated)',
    'if (false)',
  ],
  [
    'what was handled is handled again without being asked',
    'inbox/operator-action.ts',
    "if (state === 'handled')",
    'if (false)',
  ],
  [
    'a copy is released beside its original',
    'inbox/operator-action.ts',
    "release: ['handled', 'running', 'retrying', 'stored', 'unhandled', 'dead', 'discarded'],",
    'release: [],',
  ],
  [
    'an undo of a discard repeats what was handled',
    'inbox/undo.ts',
    "(isDueAgain && !again && repeatRefusal('retry', related)) || before",
    'before',
  ],
]

const COMMITS = [
  [
    '`add` resolves before the commit',
    'inbox/sqlite/sqlite-inbox.ts',
    'return this.#commits.add({ ...arrival, headers: storedHeaders(arrival.headers), begin })',
    `void this.#commits.add({ ...arrival, headers: storedHeaders(arrival.headers), begin }).catch(() => {})
     return { result: 'stored', id: '1' }`,
    sqlite,
  ],
  [
    '`settle` resolves before the commit',
    'inbox/sqlite/sqlite-inbox.ts',
    "return this.#commits.write<'settle'>(() => ['settle', settled], ends.length)",
    `void this.#commits.write<'settle'>(() => ['settle', settled], ends.length).catch(() => {})
     return Promise.resolve(new Set(ends.map(({ claim }) => claim.id)))`,
    sqlite,
  ],
  [
    'every 50th transaction is rolled back instead of committed',
    'inbox/sqlite/connection.ts',
    "this.run('COMMIT')",
    "this.run(((globalThis as any).count = ((globalThis as any).count ?? 0) + 1) % 50 ? 'COMMIT' : 'ROLLBACK')",
    sqlite,
  ],
  [
    'an entry is completed before its handler',
    ATTEMPT,
    "if (start === 'lost') return { end: { move: 'handBack' } }",
    `if (start === 'lost') return { end: { move: 'handBack' } }
     await parts.inbox.settle([{ claim: run.entry, end: { move: 'complete' } }])`,
  ],
  [
    'the end of every 50th entry is not recorded',
    SQLITE_CLAIMS,
    'if (rowId === undefined) return false\n  const { move }',
    `if (rowId === undefined) return false
     if (((globalThis as any).ends = ((globalThis as any).ends ?? 0) + 1) % 50 === 0) return true
     const { move }`,
    sqlite,
  ],
  [
    'the claim of an arrival whose handlers begin is not recorded',
    SQLITE_ADD,
    "claimedForMs === undefined ? 'stored' : 'running'",
    "'stored'",
    sqlite,
    [SQLITE_ADD, 'now + (claimedForMs ?? 0)', 'now'],
  ],
  [
    'writes that come with arrivals are lost',
    'inbox/sqlite/commit-queue.ts',
    'return { arrivals, writes: this.#others.splice(0, MAX_BATCH) }',
    `const writes = this.#others.splice(0, MAX_BATCH)
     return { arrivals, writes: arrivals.length > 0 ? [] : writes }`,
    sqlite,
  ],
  [
    'what waits for a transaction is forgotten',
    'inbox/sqlite/group-commit.ts',
    'this.#committing = undefined\n      this.#commitNext()',
    'this.#committing = undefined',
    sqlite,
  ],
  [
    'a failed call is answered as stored',
    'receiver/durable-acceptance.ts',
    "return outcome('ERR_INBOX_UNAVAILABLE', callback, error)\n  }\n\n  #add",
    "return outcome('STORED', callback, error)\n  }\n\n  #add",
  ],
  [
    'a transaction is committed although its handler failed',
    'worker/dispatch-in-transaction.ts',
    'if (failure) throw new RolledBack()',
    '',
    memory,
  ],
  ['an end that failed is not recorded again', RECORDS, 'if (!run.ended) continue\n      }', '}'],
  ['a lost answer counts as an end', RECORDS, 'return shown?.attempts === counted &&', 'return true ||'],
  [
    'a worker that stops commits what it began',
    'worker/dispatch-in-transaction.ts',
    "if (!mayCommit()) throw new Error('the worker has stopped')",
    '',
    memory,
  ],
]

/** @type {Record<string, any[][]>} */
const KINDS = {
  'wake-ups': WAKE_UPS,
  fencing: FENCING,
  'leases and attempts': LEASES_AND_ATTEMPTS,
  clocks: CLOCKS,
  order: ORDER,
  dedup: DEDUP,
  prune: PRUNE,
  undo: UNDO,
  commits: COMMITS,
}

export const DEFECTS = [
  ...Object.entries(KINDS).flatMap(([kind, defects]) =>
    defects.map(([defect, file, before, after, { inbox } = {}, more]) => ({
      kind,
      defect,
      inbox,
      changes: [[file, before, after], ...(more ? [more] : [])],
    })),
  ),
  ...POSTGRES_DEFECTS,
]
