// Fills one inbox in a process of its own, so that several are filled at the same time.
import { PostgresInbox } from 'countersign/postgres'
import { SqliteInbox } from 'countersign/sqlite'
import { fillPostgres, fillSqlite } from './many-entries.mjs'

process.on('message', async ({ file, connectionString, count, mix }) => {
  const inbox = file
    ? new SqliteInbox({ file, logger: false })
    : new PostgresInbox({ connectionString, logger: false })
  await inbox.open()
  await inbox.close()
  if (file) fillSqlite(file, count, mix)
  else await fillPostgres(connectionString, count, mix)
  process.send({})
})
