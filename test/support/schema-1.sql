CREATE TABLE entries (
  -- AUTOINCREMENT: an id is never given again, or a late worker could finish another's entry
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL,
  -- 1: repeats are recognised by it. 0: suspect, and a stranger may have written its key
  known INTEGER NOT NULL,
  event_type TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  -- see identity.ts
  key_hash BLOB NOT NULL,
  body_hash BLOB NOT NULL,
  signature BLOB NOT NULL,
  -- set while it is stored, running (the end of its lease) or retrying
  due_at INTEGER,
  order_key TEXT,
  -- 1: may be claimed once it is due, as nothing that shares its order_key comes before it
  ready INTEGER NOT NULL,
  token INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  replayed INTEGER NOT NULL DEFAULT 0,
  copies INTEGER NOT NULL DEFAULT 0,
  signed_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  finished_at INTEGER,
  reason TEXT,
  subscribed_type TEXT NOT NULL,
  callback_url TEXT NOT NULL,
  description TEXT,
  body BLOB NOT NULL
) STRICT;
-- the de-duplication: any number of suspects, but one known entry for a key ...
CREATE UNIQUE INDEX entries_by_key ON entries (key_hash, nullif(known, 0));
-- ... and one known entry and one suspect for a signature. What was signed includes the time, so a signature has but
-- one; that comes first for new signatures to be written beside each other and not all over the index
CREATE UNIQUE INDEX entries_by_signature ON entries (signed_at, signature, known);
CREATE INDEX entries_ready ON entries (event_type, due_at) WHERE ready = 1;
CREATE INDEX entries_in_order ON entries (order_key) WHERE order_key IS NOT NULL AND due_at IS NOT NULL;
-- of those that share an order key no two can have their turn
CREATE UNIQUE INDEX entries_turn ON entries (order_key) WHERE order_key IS NOT NULL AND ready = 1;
CREATE INDEX entries_by_state ON entries (state, finished_at);

-- of repeats that the service has signed anew
CREATE TABLE more_signatures (signature BLOB PRIMARY KEY, entry_id INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX more_signatures_by_entry ON more_signatures (entry_id);

-- what people have done
CREATE TABLE history (
  id INTEGER PRIMARY KEY,
  entry_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  person TEXT NOT NULL
) STRICT;
CREATE INDEX history_by_entry ON history (entry_id);
PRAGMA user_version = 1;
PRAGMA application_id = 0x4353494e;
