// What storing in PostgreSQL costs an Express route at least. Nothing is verified, a table has the key and the body only, and one
// statement stores what arrived while the one before it ran.
import express from 'express'
import pg from 'pg'
import { path } from '../receiver/requests.mjs'

const INSERT = {
  name: 'insert',
  text: 'INSERT INTO by_hand (key, body) SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING',
}

/** An Express application that calls `onStored` before it answers. */
export async function insertByHand(connectionString, onStored) {
  const pool = new pg.Pool({ connectionString })
  await pool.query('CREATE TABLE by_hand (key text PRIMARY KEY, body bytea NOT NULL)')
  let waiting = []
  let isStoring = false

  async function store() {
    isStoring = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await pool.query({ ...INSERT, values: [batch.map(({ key }) => key), batch.map(({ body }) => body)] })
      for (const { response } of batch) {
        onStored()
        response.sendStatus(200)
      }
    }
    isStoring = false
  }

  const app = express()
  app.post(path, express.raw({ type: () => true }), (request, response) => {
    waiting.push({ key: request.get('x-idempotency-key'), body: request.body, response })
    if (!isStoring) setImmediate(() => isStoring || store())
  })
  return app
}
