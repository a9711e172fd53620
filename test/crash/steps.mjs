// Where a process or the database is killed.

/** The steps, and which processes pass them when receivers and workers are separate. */
const COMMON = [
  { step: 'after verify', roles: ['receiver'] },
  { step: 'before commit', roles: ['receiver', 'worker'] },
  { step: 'after commit, before the answer', roles: ['receiver'] },
  { step: 'after claim', roles: ['worker'] },
  { step: 'in the handler', roles: ['worker'] },
]
const PLAIN = [
  { step: 'after the handler, before complete', roles: ['worker'] },
  { step: 'after complete', roles: ['worker'] },
]
const TRANSACTIONAL = [
  { step: 'after the ledger row', roles: ['worker'] },
  { step: 'before COMMIT of the handler', roles: ['worker'] },
  { step: 'during COMMIT of the handler', roles: ['worker'] },
  { step: 'after COMMIT, before it is reported', roles: ['worker'] },
]
const AT_RANDOM = { step: 'at random', roles: ['receiver', 'worker'] }
const BESIDE_A_SECOND = { step: 'at random, beside a second process', roles: ['receiver'], second: 1 }

/** Of these the process that passes the step kills the database instead of itself. */
const DATABASE = [
  { step: 'database, before commit', at: 'before commit', roles: ['receiver', 'worker'] },
  { step: 'database, at random', at: 'at random', roles: ['receiver', 'worker'] },
  { step: 'database and a process, at random', at: 'at random', roles: ['receiver', 'worker'], both: true },
]
const DATABASE_TRANSACTIONAL = [
  { step: 'database, after the ledger row', at: 'after the ledger row', roles: ['worker'] },
  { step: 'database, before COMMIT of a handler', at: 'before COMMIT of the handler', roles: ['worker'] },
  { step: 'database, during COMMIT of a handler', at: 'during COMMIT of the handler', roles: ['worker'] },
]

export function stepsOf({ isAlone, hasDatabase, isTransactional }) {
  const ofDatabase = hasDatabase ? [...(isTransactional ? DATABASE_TRANSACTIONAL : []), ...DATABASE] : []
  return [
    ...COMMON,
    ...(isTransactional ? TRANSACTIONAL : PLAIN),
    AT_RANDOM,
    ...(isAlone ? [BESIDE_A_SECOND] : []),
    ...ofDatabase.map((each) => ({ ...each, killsDatabase: true })),
  ]
}
