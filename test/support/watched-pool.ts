import pg from 'pg'

/** A pool that keeps the text of each statement in `statements`. */
export function watchedPool(connectionString: string): { pool: pg.Pool; statements: string[] } {
  const pool = new pg.Pool({ connectionString, max: 4 })
  // Its connections may still be closing when the server is stopped.
  pool.on('error', () => {})
  const statements: string[] = []
  pool.on('connect', (client) => {
    const send = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      statements.push(String(given[0]))
      return send(...given)
    }) as typeof client.query
  })
  return { pool, statements }
}
