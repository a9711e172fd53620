import { changesSession, refuseTransactionControl } from '../../../src/inbox/postgres/transaction-control.js'

describe('a query within a transaction', () => {
  it.each([
    "SELECT 'commit; commit'",
    'SELECT $$; commit; $$',
    'SELECT $a$; commit; $$ $a$',
    'SELECT "commit; commit"',
    'SAVEPOINT a; ROLLBACK TO a; RELEASE a',
    'ROLLBACK WORK TO SAVEPOINT a',
    '-- commit; commit\nSELECT 1',
    'SELECT CASE WHEN true THEN 1 END',
    'PREPARE plan AS SELECT 1',
  ])('may be %s', (query) => {
    expect(() => refuseTransactionControl(query)).not.toThrow()
  })

  it.each([
    'start transaction',
    'Commit and chain',
    "SELECT 'a\\'; COMMIT; --'",
    "SELECT E'a\\'; '; COMMIT",
    "PREPARE TRANSACTION 'x'",
    'abort',
    'rollback',
  ])('may not be %s', (query) => {
    expect(() => refuseTransactionControl(query)).toThrow(
      expect.objectContaining({ code: 'ERR_TRANSACTION_CONTROL' }),
    )
  })

  it.each([
    "SET LOCAL statement_timeout = '1h'",
    "SELECT set_config('app.tenant', $1, true)",
    'UPDATE entries SET a = 1; SELECT pg_advisory_xact_lock(1)',
    'SET CONSTRAINTS ALL DEFERRED',
    "SELECT 'LISTEN x; SET a = b; pg_advisory_lock(1)'",
    'INSERT INTO temperatures VALUES (1)',
  ])('changes nothing that outlasts the transaction: %s', (query) => {
    expect(changesSession(query)).toBe(false)
  })
})
