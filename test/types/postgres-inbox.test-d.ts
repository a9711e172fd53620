import pg from 'pg'
import type { TransactionalInbox } from '../../src/inbox/inbox.js'
import { PostgresInbox, type PostgresPool } from '../../src/postgres.js'

const pool: PostgresPool = new pg.Pool()
export const inbox: TransactionalInbox = new PostgresInbox({ pool })

// @ts-expect-error a client is no pool
void new PostgresInbox({ pool: new pg.Client() })
