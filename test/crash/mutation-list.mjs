// The defects that mutations.mjs introduces: each a change of the sources, as [file, what is there, what replaces it].
// `tests` are those that must see a defect that the crash test does not see.
const CLAIMS = 'inbox/sqlite/claims.ts'
const INBOX = 'inbox/sqlite/sqlite-inbox.ts'
const ADD_WRITES = 'return this.#commits.add({ ...arrival, headers: storedHeaders(arrival.headers), begin })'
const SETTLE_WRITES = "return this.#commits.write<'settle'>(() => ['settle', settled], ends.length)"
const BEGINS = "if (start === 'lost') return { end: { move: 'handBack' } }"

const INBOX_TESTS = ['test/inbox/sqlite-inbox.test.ts', 'test/inbox/sqlite-processes.system.test.ts']
const WORKER_TESTS = ['worker-leases', 'late-begins', 'worker'].map((name) => `test/worker/${name}.test.ts`)

export const MUTATIONS = [
  {
    defect: '`add` resolves before the commit',
    changes: [
      [
        INBOX,
        ADD_WRITES,
        `void this.#commits.add({ ...arrival, headers: storedHeaders(arrival.headers), begin }).catch(() => {})
         return { result: 'stored', id: '1' }`,
      ],
    ],
  },
  {
    defect: 'every 50th transaction is rolled back instead of committed',
    changes: [
      [
        'inbox/sqlite/connection.ts',
        "this.run('COMMIT')",
        "this.run(((globalThis as any).count = ((globalThis as any).count ?? 0) + 1) % 50 ? 'COMMIT' : 'ROLLBACK')",
      ],
    ],
  },
  {
    defect: 'an entry is completed before its handler',
    changes: [
      [
        'worker/attempt.ts',
        BEGINS,
        `${BEGINS}
         await parts.inbox.settle([{ claim: run.entry, end: { move: 'complete' } }])`,
      ],
    ],
  },
  {
    defect: 'repeats are not recognised by their key',
    changes: [['inbox/sqlite/add.ts', 'key_hash: keyHash,', 'key_hash: Buffer.from(crypto.randomUUID()),']],
  },
  {
    defect: 'the end of every 50th entry is not recorded',
    changes: [
      [
        CLAIMS,
        'if (rowId === undefined) return false\n  const { move }',
        `if (rowId === undefined) return false
         if (((globalThis as any).ends = ((globalThis as any).ends ?? 0) + 1) % 50 === 0) return true
         const { move }`,
      ],
    ],
  },
  {
    defect: 'an interrupted entry is not claimed again',
    changes: [[CLAIMS, "'ready = 1 AND begun_by > 0'", "'ready = 1 AND begun_by < 0'"]],
  },
  {
    defect: 'an entry that was claimed and had not begun is not claimed again',
    changes: [
      [CLAIMS, "'ready = 1 AND begun_by = 0'", '"ready = 1 AND begun_by = 0 AND state <> \'running\'"'],
    ],
    tests: INBOX_TESTS,
  },
  {
    defect: '`claim` ignores leases',
    changes: [
      [
        CLAIMS,
        'AND event_type = ? AND due_at <= ?',
        "AND event_type = ? AND (due_at <= ? OR state = 'running')",
      ],
    ],
    tests: INBOX_TESTS,
  },
  {
    defect: 'a claim has no lease until its handlers begin',
    changes: [
      [
        CLAIMS,
        'db.get<ClaimedRow>(CLAIM, now + leaseMs, now, id, interrupted ? 0 : beginBelow)',
        'db.get<ClaimedRow>(CLAIM, now, now, id, interrupted ? 0 : beginBelow)',
      ],
    ],
    tests: INBOX_TESTS,
  },
  {
    defect: 'the begin of an entry is not recorded',
    changes: [
      [CLAIMS, 'attempts = attempts + (begun_by <> token), begun_by = token', 'attempts = attempts'],
      [CLAIMS, '(attempts < ?4),\n    begun_by = iif(attempts < ?4, token + 1, begun_by)', '0'],
    ],
    tests: INBOX_TESTS,
  },
  {
    defect: 'the end of an entry is recorded for any claim',
    changes: [[CLAIMS, 'WHERE id = ?7 AND token = ?8', 'WHERE id = ?7 AND ?8 = ?8']],
    tests: INBOX_TESTS,
  },
  {
    defect: '`settle` resolves before the commit',
    changes: [
      [
        INBOX,
        SETTLE_WRITES,
        `void this.#commits.write<'settle'>(() => ['settle', settled], ends.length).catch(() => {})
         return Promise.resolve(new Set(ends.map(({ claim }) => claim.id)))`,
      ],
    ],
    tests: INBOX_TESTS,
  },
  {
    defect: 'leases are not renewed',
    changes: [['worker/leases.ts', 'if (claims.length === 0) return', 'if (claims.length >= 0) return']],
    tests: WORKER_TESTS,
  },
  {
    defect: 'a stored callback does not wake the worker',
    changes: [['worker/worker.ts', 'this.#schedule.stored()\n    this.#look()', 'this.#schedule.stored()']],
    tests: ['test/worker/arrivals.test.ts'],
  },
  {
    defect: 'the claim of an arrival whose handlers begin is not recorded',
    changes: [
      ['inbox/sqlite/add.ts', "claimedForMs === undefined ? 'stored' : 'running'", "'stored'"],
      ['inbox/sqlite/add.ts', 'now + (claimedForMs ?? 0)', 'now'],
    ],
    tests: INBOX_TESTS,
  },
  {
    defect: 'an arrival begins although no slot is free',
    changes: [
      ['worker/claim-schedule.ts', '#claiming < this.freeSlots(slots)', '#claiming <= this.freeSlots(slots)'],
    ],
    tests: ['test/worker/arrivals.test.ts'],
  },
  {
    defect: 'the next entry of an order key is not promoted',
    changes: [[CLAIMS, 'if (ended && ended.order_key !== null) promoteNext(db, ended.order_key)', '']],
    tests: INBOX_TESTS,
  },
]
