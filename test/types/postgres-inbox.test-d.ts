import pg from 'pg'
import { PostgresInbox, type PostgresPool } from '../../src/postgres.js'

const pool: PostgresPool = new pg.Pool()
export const inbox = new PostgresInbox({ pool })

// @ts-expect-error a client is no pool
void new PostgresInbox({ pool: new pg.Client() })
