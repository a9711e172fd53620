// The defects of PostgresInbox that mutations.mjs introduces, as in mutation-list.mjs. `kill` is the step at which they show, and
// `options` are those of run.mjs, beside the ones that all of them have.
const DATABASE = 'inbox/postgres/inbox-database.ts'
const INBOX = 'inbox/postgres/postgres-inbox.ts'
const LEASE_FUNCTION = 'inbox/postgres/lease-function.ts'
const CLAIM = 'inbox/postgres/claim-function.ts'
const BEGIN = 'inbox/postgres/claim.ts'
const SETTLE = 'inbox/postgres/settle-function.ts'
const TRANSACT = 'inbox/postgres/transact.ts'
const TRANSACTION = 'inbox/postgres/transaction.ts'
const ORDER = 'inbox/postgres/order.ts'

const CONFORMANCE = 'test/inbox/postgres/conformance.system.test.ts'
const TWO_POOLS = 'test/inbox/postgres/two-pools.system.test.ts'
const FAULTS = 'test/inbox/postgres/faults.system.test.ts'
const TRANSACT_TESTS = 'test/inbox/postgres/transact.system.test.ts'

const EVERY_50TH = '((globalThis as any).count = ((globalThis as any).count ?? 0) + 1) % 50 === 0'

export const POSTGRES_MUTATIONS = [
  {
    defect: '`add` resolves before COMMIT',
    kill: 'before commit',
    changes: [
      [
        INBOX,
        'return this.#arrivals.add({ ...arrival, begin })',
        `void this.#arrivals.add({ ...arrival, begin }).catch(() => {})
         return Promise.resolve({ result: 'stored', id: '1' })`,
      ],
    ],
  },
  {
    defect: 'every 50th transaction is rolled back instead of committed',
    kill: 'after claim',
    changes: [
      [DATABASE, '`${mark} COMMIT`', `mark + (${EVERY_50TH} ? ' ROLLBACK' : ' COMMIT')`],
      [
        DATABASE,
        'return await this.#limited(\n        (mark) => work((sql, ...values) => all(`${mark} ${sql}`, ...values)),\n        awaitedUntil,\n      )',
        `const isRolledBack = ${EVERY_50TH}
         if (isRolledBack) await connection.query('BEGIN')
         const result = await this.#limited((mark) => work((sql, ...values) => all(\`\${mark} \${sql}\`, ...values)), awaitedUntil)
         if (isRolledBack) await connection.query('ROLLBACK')
         return result`,
      ],
      [TRANSACTION, "if (command === 'COMMIT') return result", "if (command !== '') return result"],
    ],
  },
  {
    defect: 'commits do not wait for the disk',
    kill: 'database, at random',
    changes: [
      [
        TRANSACTION,
        '`BEGIN ISOLATION LEVEL READ COMMITTED; SELECT',
        '`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off; SELECT',
      ],
      [TRANSACTION, "IN ('off', 'local')", "IN ('none')"],
      [
        LEASE_FUNCTION,
        "set_config('synchronous_commit', 'on', true) END",
        "'' END, set_config('synchronous_commit', 'off', true)",
      ],
    ],
  },
  {
    defect: "the handler's writes are committed before the end is recorded",
    kill: 'after COMMIT, before it is reported',
    changes: [
      [
        TRANSACT,
        'await checkSameTransaction(connection, xid)',
        "await connection.query('COMMIT')\n    await connection.query('BEGIN')",
      ],
    ],
  },
  {
    defect: 'the end is recorded before the handler, in a transaction of its own',
    kill: 'in the handler',
    changes: [
      [
        TRANSACT,
        'const end = await within(',
        `await connection.query(\`WITH gone AS (DELETE FROM \${schema}.due WHERE id = \${id} RETURNING id)
           INSERT INTO \${schema}.ended (id, at, state) SELECT id, 1, 'handled' FROM gone; COMMIT; BEGIN\`)
         const end = await within(`,
      ],
      [TRANSACT, 'await checkSameTransaction(connection, xid)', ''],
      [TRANSACT, 'if (held.size === 0) {', 'if (held.size < 0) {'],
    ],
  },
  {
    defect: 'repeats are not recognised by their key',
    kill: 'after claim',
    changes: [
      [
        'inbox/postgres/arriving-rows.ts',
        'writeIdentity(arrival, identities, index * IDENTITY_BYTES)',
        'writeIdentity({ ...arrival, key: crypto.randomUUID() }, identities, index * IDENTITY_BYTES)',
      ],
    ],
  },
  {
    defect: 'an interrupted entry is not claimed again',
    kill: 'in the handler',
    changes: [[CLAIM, "taking('begun_by > 0')", "taking('begun_by < 0')"]],
  },
  {
    defect: '`claim` ignores leases',
    kill: 'after claim',
    options: ['--workers', '2', '--handler-ms', '60'],
    changes: [
      [
        CLAIM,
        '${begun} AND type = types.type AND due_at <= found_at',
        "${begun} AND type = types.type AND (due_at <= found_at OR state = 'running')",
      ],
    ],
    tests: [CONFORMANCE],
  },
  {
    defect: 'claims lock no rows',
    kill: 'after claim',
    options: ['--workers', '2', '--handler-ms', '60'],
    changes: [
      [
        CLAIM,
        'ORDER BY due_at, id LIMIT claim_limit FOR UPDATE SKIP LOCKED',
        'ORDER BY due_at, id LIMIT claim_limit',
      ],
    ],
    tests: [TWO_POOLS, CONFORMANCE],
  },
  {
    defect: 'the end of an entry is recorded for any claim, also in a transaction',
    kill: 'in the handler',
    options: ['--workers', '2', '--handler-ms', '60'],
    changes: [[LEASE_FUNCTION, ' AND token = (${tokens})[array_position(${ids}, id)]', '']],
    tests: [TRANSACT_TESTS],
  },
  {
    defect: 'a transaction is committed although the claim was lost',
    kill: 'in the handler',
    options: ['--workers', '2', '--handler-ms', '60'],
    changes: [[TRANSACT, 'if (held.size === 0) {', 'if (held.size < 0) {']],
    tests: [TRANSACT_TESTS],
  },
  {
    defect: 'a COMMIT without an answer counts as committed',
    kill: 'database, during COMMIT of a handler',
    changes: [[TRANSACT, 'if (await wasCommitted(connections, committing))', 'if (committing)']],
    tests: [FAULTS],
  },
  {
    defect: '`settle` resolves before COMMIT',
    kill: 'after complete',
    isPlain: true,
    changes: [
      [
        INBOX,
        'const { held, isAnyDue } = await this.#leases.settle(ends)',
        `void this.#leases.settle(ends).catch(() => {})
         const { held, isAnyDue } = { held: new Set(ends.map(({ claim }) => claim.id)), isAnyDue: true }`,
      ],
    ],
    tests: [CONFORMANCE],
  },
  {
    defect: 'the begin of an entry is not recorded',
    kill: 'in the handler',
    changes: [
      [CLAIM, 'THEN token + 1 ELSE begun_by END', 'THEN begun_by ELSE begun_by END'],
      [BEGIN, '::integer, begun_by = token,', '::integer,'],
    ],
    tests: [CONFORMANCE],
  },
  {
    defect: 'order keys are not locked',
    kill: 'before commit',
    changes: [
      [ORDER, 'if (keys.length > 0) await tx.run(LOCK', 'if (keys.length < 0) await tx.run(LOCK'],
      [
        SETTLE,
        'FROM unnest(order_keys) AS given (key) ORDER',
        'FROM unnest(order_keys) AS given (key) WHERE false ORDER',
      ],
    ],
    tests: [TWO_POOLS],
  },
  {
    defect: 'the next entry of an order key is not promoted',
    kill: 'before COMMIT of the handler',
    changes: [[SETTLE, 'IF order_keys IS NOT NULL THEN', 'IF false THEN']],
    tests: [CONFORMANCE],
  },
]
