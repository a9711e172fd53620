// The defects of PostgresInbox that `npm run simulate -- --defects` introduces, with those that the crash test introduces.
import { POSTGRES_MUTATIONS } from '../crash/mutation-list-postgres.mjs'

const CLAIM = 'inbox/postgres/claim.ts'
const CLAIM_FUNCTION = 'inbox/postgres/claim-function.ts'
const LEASES = 'inbox/postgres/lease-operations.ts'
const SETTLE_FUNCTION = 'inbox/postgres/settle-function.ts'
const STORE_FUNCTION = 'inbox/postgres/store-new-function.ts'
const ORDER_SQL = 'inbox/postgres/order-sql.ts'
const ACT = 'inbox/postgres/act.ts'
const PRUNE = 'inbox/postgres/prune.ts'

/** @type {any[][]} */
const OWN = [
  [
    'wake-ups',
    'what is stored is not announced',
    'inbox/postgres/postgres-inbox.ts',
    'const onDue = () => this.#announcements.announce()',
    'const onDue = () => {}',
  ],
  [
    'fencing',
    'a claim has the token of the claim before it',
    CLAIM_FUNCTION,
    'token = token + 1,\n',
    'token = token,\n',
  ],
  [
    'leases and attempts',
    'a claim has no lease',
    CLAIM_FUNCTION,
    'due_at = found_at + lease_ms',
    'due_at = found_at',
  ],
  ['leases and attempts', 'a renewal ends the lease', CLAIM, 'tx.now + leaseMs', 'tx.now'],
  [
    'leases and attempts',
    'attempts do not count',
    CLAIM_FUNCTION,
    'attempts = attempts + (attempts < begin_below)::integer',
    'attempts = attempts',
  ],
  [
    'leases and attempts',
    'what is handed back counts as an attempt',
    SETTLE_FUNCTION,
    'attempts = attempts - (given_handed_back[${PLACE}] AND begun_by = token)::integer',
    'attempts = attempts',
  ],
  [
    'clocks',
    'due times are not corrected after a step back',
    CLAIM,
    'if (ahead !== null) await tx.run(SET_ANEW',
    'if (ahead === 0n) await tx.run(SET_ANEW',
  ],
  [
    'clocks',
    'only a clock that a process itself has seen set back is corrected',
    LEASES,
    'if (isAhead) this.#clock.isBehind()',
    '',
  ],
  [
    'clocks',
    'leases that a step of the clock has ended are taken at once',
    LEASES,
    'this.#noInterruptedUntil = this.#environment.monotonic() + leaseMs',
    '',
  ],
  [
    'order',
    'the latest entry of an order key comes first',
    ORDER_SQL,
    'ORDER BY id LIMIT 1',
    'ORDER BY id DESC LIMIT 1',
  ],
  [
    'order',
    'the end of an entry does not lock its order key',
    SETTLE_FUNCTION,
    'PERFORM pg_advisory_xact_lock(key # order_lock)',
    'PERFORM key # order_lock',
  ],
  [
    'order',
    'a retry of an operator ignores the order',
    ACT,
    '$3::integer, order_key IS NULL, $2::text',
    '$3::integer, true, $2::text',
  ],
  [
    'dedup',
    'replays are not recognised by their signature',
    'inbox/postgres/recognise-arrivals.ts',
    "signature: signedId === null ? 'unknown'",
    "signature: signedId !== null ? 'unknown'",
  ],
  [
    'dedup',
    'the signature of a repeat is not stored',
    'inbox/postgres/copies.ts',
    "SELECT -nextval('entries_id'), 1, signed_at, signature, id",
    "SELECT -nextval('entries_id'), 1, signed_at, gen_random_uuid(), id",
  ],
  [
    'prune',
    'what was deleted is forgotten',
    PRUNE,
    'SELECT 1, max(signed_at) FROM',
    'SELECT 1, 0 * max(signed_at) FROM',
  ],
  [
    'prune',
    'what is deleted while it is stored again is stored',
    STORE_FUNCTION,
    'WHERE signed_at >= earliest_stored) THEN',
    'WHERE signed_at >= earliest_stored AND false) THEN',
  ],
  [
    'prune',
    'all ended entries are deleted',
    PRUNE,
    "WHERE state = '${state}' AND at <",
    "WHERE state <> 'quarantined' AND at <",
  ],
  [
    'undo',
    'an undo restores another state',
    ACT,
    'await tx.run(MAKE_DUE, row, state, attempts, typeKey(eventType)',
    "await tx.run(MAKE_ENDED, row, 'dead', attempts, tx.now)\n  else if (dueAt === -1) await tx.run(MAKE_DUE, row, state, attempts, typeKey(eventType)",
  ],
  [
    'undo',
    'an operator does not wait for another one',
    ACT,
    "await tx.run('SELECT pg_advisory_xact_lock($1::bigint)', advisoryLock(schema, 'act').toString())",
    '',
    [
      "const LOCK = ['due', 'ended'].map((table) => `SELECT FROM ${table} WHERE id = $1::bigint FOR UPDATE`)",
      'const LOCK: string[] = []\nexport const unused = advisoryLock',
    ],
  ],
  [
    'commits',
    'a failed transaction stays open',
    'inbox/postgres/transaction.ts',
    "await connection.query('ROLLBACK')",
    '',
  ],
  [
    'commits',
    'a transaction that was undone for another one counts as carried out',
    'inbox/postgres/transaction.ts',
    'if (!isConflict(original) || tries === MAX_TRIES) throw error',
    'if (isConflict(original)) return undefined as Result\n      if (tries === MAX_TRIES || original) throw error',
  ],
]

/** All of them, by kind. The crash test has those without a kind. */
export const POSTGRES_DEFECTS = [
  ...POSTGRES_MUTATIONS.map(({ defect, changes }) => ({ kind: 'kills', defect, changes })),
  ...OWN.map(([kind, defect, file, before, after, more]) => ({
    kind,
    defect,
    changes: [[file, before, after], ...(more ? [[file, ...more]] : [])],
  })),
].map((each) => ({ ...each, defect: `PostgreSQL: ${each.defect}`, inbox: 'postgres' }))
