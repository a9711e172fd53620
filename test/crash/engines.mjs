// The inboxes that the crash test can run on. The runner makes the place of an inbox; the runner and every process that it
// starts open the inbox by the settings of that place.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const sqlite = {
  /** Short, so that the entries of a killed process are due again soon. */
  limits: { leaseMs: 600, handlerTimeoutMs: 500 },

  async prepare() {
    const directory = mkdtempSync(join(tmpdir(), 'countersign-crash-inbox-'))
    return {
      settings: { file: join(directory, 'callbacks.db') },
      remove: async () => rmSync(directory, { recursive: true, force: true }),
    }
  },
  async create(settings) {
    const { SqliteInbox } = await import('countersign/sqlite')
    return new SqliteInbox(settings)
  },
  // The prototypes of the drivers cannot be changed, so this watches the map of prepared statements of the connection.
  strikeAtCommits(strike) {
    const { set } = Map.prototype
    // oxlint-disable-next-line no-extend-native -- only in this process, which is about to be killed
    Object.defineProperty(Map.prototype, 'set', {
      value(key, value) {
        if (key !== 'COMMIT') return set.call(this, key, value)
        const run = () => {
          strike('before commit')
          return value.run()
        }
        return set.call(this, key, { run })
      },
    })
  },
}

/** Each loads what its engine needs: for PostgreSQL this takes half as long as the whole start of a receiver. */
export const ENGINES = {
  sqlite: async () => sqlite,
  postgres: async () => (await import('./postgres-engine.mjs')).postgres,
}
