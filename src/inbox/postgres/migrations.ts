import { CLAIM_FUNCTION } from './claim-function.js'
import { SETTLE_FUNCTION } from './settle-function.js'
import { FIRST_TOKEN, STORE_NEW_FUNCTION } from './store-new-function.js'

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

/** By default a fifth of a large table may be dead rows, which here is many times what is unfinished. */
const VACUUMED_EARLY = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0`

export const MIGRATIONS: readonly Migration[] = [
  {
    compatibleFrom: 1,
    sql: `
  -- The only clock of the inbox, in milliseconds since 1970.
  CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

  -- CACHE 1: of two ids that are drawn one after the other, in any sessions, the later one is larger.
  CREATE SEQUENCE entries_id CACHE 1;

  -- What all callbacks that a secret of a subscription has signed have in common.
  CREATE TABLE sources (
    -- a hash of the other columns
    id bigint PRIMARY KEY,
    subscribed_type text NOT NULL,
    callback_url text NOT NULL,
    description text,
    -- NULL: the default, which is made of subscribed_type and callback_url
    subscription_id text,
    -- which secret signed it
    secret_fingerprint text NOT NULL,
    -- when the secret was used last; it is set at most once a minute
    last_signed_at bigint NOT NULL,
    -- JSON, as text because it may contain U+0000
    headers text
  );

  -- What arrived and who it is. Only decisions of operators change a row.
  CREATE TABLE entries (
    id bigint PRIMARY KEY DEFAULT nextval('entries_id'),
    signed_at bigint NOT NULL,
    received_at bigint,
    -- a hash of the text that orderBy returned
    order_key bigint,
    source bigint,
    -- of a repeat: the entry
    repeat_of bigint,
    -- SHA-256 of the idempotency key and of the key, 8 bytes of each
    key_hash uuid,
    -- 16 bytes of each: half a signature cannot be replayed by a reader of this table
    body_hash uuid,
    signature uuid NOT NULL,
    -- 0: repeats are recognised by it. 1: a repeat that was signed anew, of which only the signature is kept; also the nonce of a
    -- probe; the id is negative. 2: repeats are not recognised by it. An attacker may have written the key of an entry in quarantine.
    kind smallint NOT NULL,
    -- whether an operator had it handled again
    replayed boolean NOT NULL DEFAULT false,
    idempotency_key text,
    -- the Id of the body
    body_id text,
    -- NULL: the one that was subscribed
    event_type text
  ) WITH (${VACUUMED_EARLY});
  -- The de-duplication: one known entry for a key, and one known entry or repeat for a signature. The time is part of what is signed;
  -- it comes first so that new signatures are written beside each other and not all over the index.
  CREATE UNIQUE INDEX entries_by_key ON entries (key_hash) WHERE kind = 0;
  CREATE UNIQUE INDEX entries_by_signature ON entries (signed_at, signature) WHERE kind <= 1;
  -- One other entry for a signature.
  CREATE UNIQUE INDEX entries_suspect ON entries (signed_at, signature) WHERE kind = 2;
  CREATE INDEX entries_suspect_by_key ON entries (key_hash) WHERE kind = 2;
  CREATE INDEX entries_repeating ON entries (repeat_of) WHERE kind = 1;
  CREATE INDEX entries_by_body_id ON entries (hashtextextended(body_id, 0), id) WHERE body_id IS NOT NULL;

  -- Apart from the entry, so that a body can be deleted before its identity.
  CREATE TABLE contents (
    id bigint PRIMARY KEY,
    trace_context text,
    -- the others; a number stands for so many of the source
    headers text,
    body bytea NOT NULL
  ) WITH (${VACUUMED_EARLY});

  -- A row for each unfinished entry. It is narrow, because each change of its state writes it again.
  CREATE TABLE due (
    id bigint PRIMARY KEY,
    -- a hash of the event type, by which workers ask
    type bigint NOT NULL,
    -- when a worker may claim it: while it runs, the end of the lease
    due_at bigint NOT NULL,
    -- when due_at was set
    due_set_at bigint NOT NULL,
    -- when the handlers began the last time; NULL once the attempt is among past_attempts
    begun_at bigint,
    order_key bigint,
    -- the first one is drawn at random; each claim adds one
    token integer NOT NULL DEFAULT ${FIRST_TOKEN},
    -- the token of the claim whose handlers began, until an end is recorded; 0: none
    begun_by integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    -- whether no older unfinished entry has its order_key
    ready boolean NOT NULL,
    -- stored, running or retrying
    state text NOT NULL DEFAULT 'stored',
    reason text,
    -- a list of lists: number, start, end, result, code, error
    past_attempts jsonb
  -- A claim writes the row again. If that does not fit on the page, the log has a lock of the row as well.
  ) WITH (fillfactor = 50, ${VACUUMED_EARLY});
  CREATE INDEX due_waiting ON due (type, due_at, id) WHERE ready AND begun_by = 0;
  CREATE INDEX due_begun ON due (type, due_at, id) WHERE ready AND begun_by > 0;
  -- The few that are claimed while their handlers have not begun.
  CREATE INDEX due_claimed ON due (due_at) WHERE state = 'running' AND begun_by = 0;
  CREATE INDEX due_retrying ON due (id) WHERE state = 'retrying';
  CREATE INDEX due_in_order ON due (order_key, id) WHERE order_key IS NOT NULL;
  -- Of the entries that share an order key no two are ready.
  CREATE UNIQUE INDEX due_turn ON due (order_key) WHERE order_key IS NOT NULL AND ready;

  -- A row for each other entry: those that ended, and those in quarantine. Rows are appended.
  CREATE TABLE ended (
    id bigint PRIMARY KEY,
    -- when it ended; of an entry in quarantine, when it arrived
    at bigint NOT NULL,
    -- when the handlers began that succeeded
    begun_at bigint,
    -- of the last claim
    token integer NOT NULL DEFAULT ${FIRST_TOKEN},
    attempts integer NOT NULL DEFAULT 0,
    -- handled, dead, discarded or quarantined
    state text NOT NULL,
    reason text,
    past_attempts jsonb
  ) WITH (${VACUUMED_EARLY});
  CREATE INDEX ended_by_time ON ended (state, at);
  -- It stays small however much was handled.
  CREATE INDEX ended_by_state ON ended (state, id) WHERE state <> 'handled';

  -- How many copies of an entry have arrived. Apart from the entry, so that an attacker's copies do not write it again.
  CREATE TABLE copies (id bigint PRIMARY KEY, number integer NOT NULL);

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
${STORE_NEW_FUNCTION}${CLAIM_FUNCTION}${SETTLE_FUNCTION}`,
  },
]

export const SCHEMA_VERSION = MIGRATIONS.length
