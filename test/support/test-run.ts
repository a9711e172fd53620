import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs before the tests of a run of Jest: makes a folder for what several test files need, and removes it after them. */
export default function setUpTestRun(): void {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tests-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.env['COUNTERSIGN_TEST_RUN'] = folder
}
