// Loaded before a server. Makes each sync that the event loop does not wait for take a millisecond longer, in case this machine's
// disk is faster than that of most. The syncs of SQLite itself, at the start of a log and in a checkpoint, stay as fast as they are.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const sync = fs.fdatasync
fs.fdatasync = (descriptor, done) => sync(descriptor, (error) => setTimeout(done, 1, error))
syncBuiltinESMExports()
