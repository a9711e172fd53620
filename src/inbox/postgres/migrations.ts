import { BEGIN_FUNCTION } from './begin-function.js'
import { CLAIM_FUNCTION } from './claim-function.js'
import { SETTLE_FUNCTION } from './settle-function.js'
import { STORE_NEW_FUNCTION } from './store-new-function.js'

/** A step from one version of the schema to the next. */
export interface Migration {
  /** Statements with the bare names of the tables. Never changed once published. */
  readonly sql: string
  /**
   * The oldest version of the schema whose code works on the result. A migration that only adds tables, indexes, or columns
   * with defaults keeps the value of the one before it, so that old processes go on during an update.
   */
  readonly compatibleFrom: number
}

export const MIGRATIONS: readonly Migration[] = [
  {
    compatibleFrom: 1,
    sql: `
  -- The only clock of the inbox, in milliseconds since 1970.
  CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

  -- CACHE 1: of two ids that are drawn one after the other, in any sessions, the later one is larger.
  CREATE SEQUENCE entries_id CACHE 1;

  CREATE TABLE entries (
    id bigint PRIMARY KEY DEFAULT nextval('entries_id'),
    state text NOT NULL,
    -- Whether repeats are recognised by it. Entries in quarantine are not known: an attacker may have written their keys.
    known boolean NOT NULL,
    event_type text NOT NULL,
    idempotency_key text NOT NULL,
    -- SHA-256 of the idempotency key and of the key, 8 bytes of each
    key_hash bytea NOT NULL,
    -- 16 bytes of each: half a signature cannot be replayed by a reader of this table
    body_hash bytea NOT NULL,
    signature bytea NOT NULL,
    -- set while it is stored or retrying
    due_at bigint,
    -- set while it is running
    lease_until bigint,
    -- when due_at or lease_until was set
    due_set_at bigint NOT NULL,
    -- a hash of the text that orderBy returned
    order_key bigint,
    -- whether no older unfinished entry has its order_key
    ready boolean NOT NULL,
    -- whether its handlers had begun when it was handed back
    interrupted boolean NOT NULL DEFAULT false,
    -- A standby that takes over may lack the latest entries, and gives their ids to others. A claim of an entry that was lost must
    -- be valid for the entry that has its id. Claims count from here.
    token integer NOT NULL DEFAULT floor(random() * 1000000000)::integer,
    -- the token of the claim whose handlers began, until an end is recorded; 0: none
    begun_by integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    -- when the handlers began the last time, and when they succeeded; NULL once the attempt is among past_attempts
    begun_at bigint,
    handled_at bigint,
    -- a list of lists: number, start, end, result, code, error
    past_attempts jsonb,
    replayed boolean NOT NULL DEFAULT false,
    copies integer NOT NULL DEFAULT 0,
    signed_at bigint NOT NULL,
    received_at bigint NOT NULL,
    finished_at bigint,
    reason text,
    subscribed_type text NOT NULL,
    callback_url text NOT NULL,
    description text,
    -- NULL: the default, which is made of subscribed_type and callback_url
    subscription_id text,
    -- which secret signed it
    secret_fingerprint text NOT NULL,
    -- the Id of the body
    body_id text
  ) WITH (
    -- Room in each page for the updates of its entries: renewals of leases then change no index (HOT).
    fillfactor = 70,
    -- By default a fifth of a large table may be dead rows, which here is many times what is unfinished.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
  );
  -- What arrived and never changes. Apart from the entry, because each change of an entry writes its whole row again.
  CREATE TABLE contents (
    id bigint PRIMARY KEY,
    trace_context text,
    -- JSON, as text because it may contain U+0000
    headers text,
    body bytea NOT NULL
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

  -- The de-duplication: one known entry for a key, and any number of others.
  CREATE UNIQUE INDEX entries_by_key ON entries (key_hash, (nullif(known, false)));
  -- One entry in quarantine for a signature.
  CREATE UNIQUE INDEX entries_suspect ON entries (signed_at, signature) WHERE NOT known;
  -- The indexes below have only what is unfinished or rare, so that they stay small however much was handled.
  CREATE INDEX entries_waiting ON entries (event_type, due_at, id)
    WHERE ready AND state IN ('stored', 'retrying') AND NOT interrupted;
  CREATE INDEX entries_interrupted ON entries (event_type, due_at, id)
    WHERE ready AND state IN ('stored', 'retrying') AND interrupted;
  CREATE INDEX entries_by_state ON entries (state, id) WHERE state <> 'handled';
  CREATE INDEX entries_in_order ON entries (order_key, id)
    WHERE order_key IS NOT NULL AND state IN ('stored', 'running', 'retrying');
  -- Of the entries that share an order key no two are ready.
  CREATE UNIQUE INDEX entries_turn ON entries (order_key) WHERE order_key IS NOT NULL AND ready;
  CREATE INDEX entries_handled ON entries (finished_at, id) WHERE state = 'handled';
  CREATE INDEX entries_ended ON entries (state, finished_at) WHERE state IN ('dead', 'discarded');
  CREATE INDEX entries_quarantined ON entries (received_at) WHERE state = 'quarantined';
  CREATE INDEX entries_by_secret ON entries (secret_fingerprint, signed_at);
  CREATE INDEX entries_by_body_id ON entries (body_id, id) WHERE body_id IS NOT NULL;

  -- One known entry for a signature: its own one, and those of repeats that were signed anew. The time is part of what is
  -- signed; it comes first so that new signatures are written beside each other and not all over the index.
  CREATE TABLE signatures (
    signed_at bigint NOT NULL,
    signature bytea NOT NULL,
    entry_id bigint NOT NULL,
    repeated boolean NOT NULL,
    PRIMARY KEY (signed_at, signature)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
  CREATE INDEX signatures_repeated ON signatures (entry_id) WHERE repeated;

  -- what operators did
  CREATE TABLE history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entry_id bigint NOT NULL,
    at bigint NOT NULL,
    action text NOT NULL,
    person text NOT NULL,
    reason text,
    -- JSON: what the decision changed, as it was before; NULL of an undo
    before text
  );
  CREATE INDEX history_by_entry ON history (entry_id);

  -- The latest signed_at of what was deleted: what was signed no later may be a replay of it.
  CREATE TABLE deleted (only_row integer PRIMARY KEY CHECK (only_row = 1), signed_at bigint NOT NULL);

  -- The types that workers asked for, and when; the empty text stands for any.
  CREATE TABLE handled_types (event_type text PRIMARY KEY, seen_at bigint NOT NULL);
${STORE_NEW_FUNCTION}${CLAIM_FUNCTION}${BEGIN_FUNCTION}${SETTLE_FUNCTION}`,
  },
]

export const SCHEMA_VERSION = MIGRATIONS.length
