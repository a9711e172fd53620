import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system in memory, where there is one (Linux). */
const IN_MEMORY = '/dev/shm'
/** What the tests of a run have there at the same time, in bytes, with room to spare. */
const NEEDED_BYTES = 3 * 2 ** 30

/**
 * Runs before the tests of a run of Jest: makes a folder for what several test files need, and removes it after them. All
 * temporary files are in memory if there is room, as waiting for a disk takes longer than most tests of inboxes. No test is
 * about what a disk keeps when the machine loses its power: processes are killed, not machines.
 */
export default function setUpTestRun(): void {
  const isInMemory = hasRoom(IN_MEMORY)
  const folder = mkdtempSync(join(isInMemory ? IN_MEMORY : tmpdir(), 'countersign-tests-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.env['COUNTERSIGN_TEST_RUN'] = folder
  if (!isInMemory) return
  // PostgreSQL runs as another user where the tests run as root, and has to get to its own folder in this one.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = folder
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= NEEDED_BYTES
  } catch {
    return false
  }
}
