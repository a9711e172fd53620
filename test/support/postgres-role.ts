import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { AnyDatabase } from './postgres-inbox.js'

/** Creates a role whose sessions begin with these settings. Returns the connection string for it. */
export async function roleWithSettings(database: AnyDatabase, settings: readonly string[]): Promise<string> {
  const role = `role ${randomUUID()}`
  const name = pg.escapeIdentifier(role)
  await database.query(`CREATE ROLE ${name} LOGIN SUPERUSER`)
  for (const setting of settings) await database.query(`ALTER ROLE ${name} SET ${setting}`)
  const { host, pathname } = new URL(database.connectionString)
  return `postgres://${encodeURIComponent(role)}@${host}${pathname}`
}

/** Returns a function that returns the settings that each change of an entry was committed with. */
export async function settingsOfCommits(
  database: AnyDatabase,
  schema: string,
  change: 'INSERT' | 'UPDATE OR DELETE',
): Promise<() => Promise<string[]>> {
  // Deferred to the commit, so that the trigger sees the settings that the commit has.
  await database.query(
    `CREATE TABLE ${schema}.seen (setting text);
    CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${schema}.seen
        VALUES (current_setting('synchronous_commit') || ' ' || current_setting('transaction_isolation'));
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER note AFTER ${change} ON ${schema}.due DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${schema}.note()`,
  )
  return async () => {
    const { rows } = await database.query(`SELECT setting FROM ${schema}.seen`)
    return rows.map(({ setting }: { setting: string }) => setting)
  }
}
