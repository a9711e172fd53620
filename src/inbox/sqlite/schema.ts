import { CountersignError } from '../../base/errors.js'
import type { SqliteDatabase } from './driver.js'

/** 'CSIN'. It distinguishes an inbox from the database of another program. */
const APPLICATION_ID = 0x4353494e

/** The steps from each version of the schema to the next. A published step is never changed. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE entries (
    -- AUTOINCREMENT: an id is never given again, or a late worker could finish another's entry
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL,
    -- 1: repeats are recognised by it. 0: suspect, and a stranger may have written its key
    known INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    -- see packed-uuid.ts
    idempotency_key ANY NOT NULL,
    -- see identity.ts
    key_hash BLOB NOT NULL,
    body_hash BLOB NOT NULL,
    signature BLOB NOT NULL,
    -- set while it is stored, running (the end of its lease) or retrying
    due_at INTEGER,
    -- when due_at was set
    due_set_at INTEGER,
    order_key TEXT,
    -- 1: may be claimed once it is due, as nothing that shares its order_key comes before it
    ready INTEGER NOT NULL,
    token INTEGER NOT NULL DEFAULT 0,
    -- the token of the claim whose handlers began, until an end is recorded; 0: none
    begun_by INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- when the handlers began the last time, and when they succeeded; NULL once the attempt is among past_attempts
    begun_at INTEGER,
    handled_at INTEGER,
    -- JSON: see ../attempt-history.ts, PastAttempt
    past_attempts TEXT,
    replayed INTEGER NOT NULL DEFAULT 0,
    copies INTEGER NOT NULL DEFAULT 0,
    signed_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    finished_at INTEGER,
    reason TEXT,
    source INTEGER NOT NULL REFERENCES sources,
    trace_context TEXT,
    -- NULL: headers has all of them, or there are none
    header_set INTEGER REFERENCES header_sets,
    -- JSON: those that the set lacks, see header-sets.ts; or all, see ../stored-headers.ts
    headers TEXT,
    -- the Id of the body, see packed-uuid.ts
    body_id ANY,
    body BLOB NOT NULL
  ) STRICT;
  -- the de-duplication: any number of suspects, but one known entry for a key ...
  CREATE UNIQUE INDEX entries_by_key ON entries (key_hash, nullif(known, 0));
  -- ... and one known entry and one suspect for a signature. What was signed includes the time, so a signature has but
  -- one; that comes first for new signatures to be written beside each other and not all over the index
  CREATE UNIQUE INDEX entries_by_signature ON entries (signed_at, signature, known);
  CREATE INDEX entries_ready ON entries (event_type, due_at) WHERE ready = 1 AND begun_by = 0;
  CREATE INDEX entries_begun ON entries (event_type, due_at) WHERE ready = 1 AND begun_by > 0;
  CREATE INDEX entries_in_order ON entries (order_key) WHERE order_key IS NOT NULL AND due_at IS NOT NULL;
  -- of those that share an order key no two can have their turn
  CREATE UNIQUE INDEX entries_turn ON entries (order_key) WHERE order_key IS NOT NULL AND ready = 1;
  -- which types wait behind other entries
  CREATE INDEX entries_waiting ON entries (event_type) WHERE ready = 0 AND due_at IS NOT NULL;
  CREATE INDEX entries_by_state ON entries (state, finished_at);
  -- These two are in the order of ids and of arrival. They contain nothing that succeeds at its first attempts.
  CREATE INDEX entries_ended ON entries (state) WHERE state IN ('dead', 'discarded');
  CREATE INDEX entries_quarantined ON entries (received_at) WHERE state = 'quarantined';
  -- By groups of 1,024 ids: new entries are written beside each other and not all over the index, which costs an arrival a
  -- tenth of its time. A search looks into each group.
  CREATE INDEX entries_by_body_id ON entries (id >> 10, body_id) WHERE body_id IS NOT NULL;

  -- what is the same for all callbacks that a secret of a subscription has signed
  CREATE TABLE sources (
    number INTEGER PRIMARY KEY,
    subscribed_type TEXT NOT NULL,
    callback_url TEXT NOT NULL,
    description TEXT,
    -- NULL: the default, which is made of subscribed_type and callback_url
    subscription_id TEXT,
    secret_fingerprint TEXT NOT NULL,
    -- the latest signed_at, to the minute
    last_signed_at INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX sources_by_content ON sources
    (subscribed_type, callback_url, secret_fingerprint, ifnull(subscription_id, ''), ifnull(description, ''));

  -- the headers that entries have in common
  CREATE TABLE header_sets (number INTEGER PRIMARY KEY, pairs TEXT NOT NULL) STRICT;

  -- of repeats that the service has signed anew
  CREATE TABLE more_signatures (
    signature BLOB PRIMARY KEY, entry_id INTEGER NOT NULL, signed_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX more_signatures_by_entry ON more_signatures (entry_id);

  -- what people have done
  CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    entry_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    person TEXT NOT NULL,
    reason TEXT,
    -- JSON: what the decision changed, as it was before; see ../undo.ts, EntryBefore. NULL of an undo
    before TEXT
  ) STRICT;
  CREATE INDEX history_by_entry ON history (entry_id);

  -- the latest signed_at of what was deleted: what was signed no later may be a replay of it
  CREATE TABLE deleted (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), signed_at INTEGER NOT NULL) STRICT;

  -- for which types workers asked, and when: see ../handled-types.ts
  CREATE TABLE handled_types (event_type TEXT PRIMARY KEY, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
]

export const SCHEMA_VERSION = MIGRATIONS.length

/** Brings the file up to date. Returns whether it was not. If several processes do so at once, one migrates it, and the others wait for that. */
export function migrate(database: SqliteDatabase, file: string, migrations = MIGRATIONS): boolean {
  const newest = migrations.length
  if (checkedVersion(database, file, newest) === newest) return false
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const migration of migrations.slice(checkedVersion(database, file, newest))) database.exec(migration)
    database.exec(`PRAGMA user_version = ${newest}; PRAGMA application_id = ${APPLICATION_ID}; COMMIT`)
    return true
  } catch (error) {
    try {
      database.exec('ROLLBACK')
    } catch {
      // Some errors have rolled back already.
    }
    throw error
  }
}

/**
 * The version of the file's schema; 0 of an empty file.
 * @throws CountersignError ERR_INBOX_CORRUPT, ERR_INBOX_NEWER
 */
export function checkedVersion(database: SqliteDatabase, file: string, newest = SCHEMA_VERSION): number {
  const {
    user_version: version,
    application_id: applicationId,
    tables,
  } = database.prepare(VERSIONS).get() as {
    user_version: number
    application_id: number
    tables: number
  }
  if (applicationId !== APPLICATION_ID && (tables > 0 || version > 0)) {
    const message = `${file} is a database of another program, not an inbox. Name another file.`
    throw new CountersignError('ERR_INBOX_CORRUPT', message)
  }
  if (version <= newest) return version
  const message =
    `${file} was written by a newer version of Countersign: its schema is version ${version}, and this one knows ` +
    `versions up to ${newest}. Use the newer version again; an older one could lose what it does not know.`
  throw new CountersignError('ERR_INBOX_NEWER', message)
}

const VERSIONS = `
  SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) AS tables
  FROM pragma_user_version, pragma_application_id`
