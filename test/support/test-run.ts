import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system in memory, where there is one (Linux). */
const IN_MEMORY = '/dev/shm'
/** What the tests of a run have there at the same time, in bytes, with room to spare. */
const NEEDED_BYTES = 3 * 2 ** 30

/** The program that tests start. Few tests load the other files, and test/crash/mutations.mjs does not build all of them. */
const PROGRAM = 'dist/cli/bin.js'

/**
 * Runs before the tests of a run of Jest. Refuses a run without the built package. Makes a folder for what several test files
 * need, and removes it after them. All temporary files are in memory if there is room, as waiting for a disk takes longer than
 * most tests of inboxes. No test is about what a disk keeps when the machine loses its power: processes are killed, not machines.
 */
export default function setUpTestRun(): void {
  refuseUnbuilt(join(__dirname, '../..'))
  const isInMemory = hasRoom(IN_MEMORY)
  const folder = mkdtempSync(join(isInMemory ? IN_MEMORY : tmpdir(), 'countersign-tests-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // PostgreSQL runs as another user where the tests run as root, and has to get to its own folder in this one.
  chmodSync(folder, 0o711)
  process.env['COUNTERSIGN_TEST_RUN'] = folder
  if (isInMemory) process.env['TMPDIR'] = folder
}

/** Otherwise hundreds of tests would fail, many of them only after their time limits. */
export function refuseUnbuilt(root: string): void {
  if (!existsSync(join(root, PROGRAM)))
    throw new Error(`${PROGRAM}: no such file, but tests start it: run "npm run build" first.`)
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= NEEDED_BYTES
  } catch {
    return false
  }
}
