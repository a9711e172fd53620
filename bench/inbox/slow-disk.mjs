// Loaded before a server. Makes each sync that the event loop does not wait for take a millisecond, in case this machine's disk is
// faster than that of most. The syncs of SQLite itself, at the start of a log and in a checkpoint, stay as fast as they are.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const LEAST_MS = 1
const sync = fs.fdatasync

fs.fdatasync = (descriptor, done) => {
  const late = new Promise((resolve) => setTimeout(resolve, LEAST_MS))
  sync(descriptor, (error) => void late.then(() => done(error)))
}
syncBuiltinESMExports()
