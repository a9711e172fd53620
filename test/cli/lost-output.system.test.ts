import { existsSync } from 'node:fs'
import { itWhere } from '../support/it-where.js'
import { startFakeService } from './fake-service.js'
import { countersignOnFullDisk, countersignUnread, FULL_DISK } from './program.js'
import { FILE, sandbox, TO } from './run-subscribe.js'

// Nothing listens on port 1.
const RECEIVER = '--deliver-to http://127.0.0.1:1 --callback-url https://partner.example.com/hooks/transfers'
/** Prints a line for the subscription, and others while the callback is delivered. */
const SIMULATE = `simulate --once --json --wait-ms 1 ${RECEIVER}`.split(' ')
const env = { COUNTERSIGN_SECRET: 'only-for~this.test' }
const LOST = 'countersign: the output could not be written: ENOSPC: no space left on device, write\n'

const itOnFullDisk = itWhere(existsSync(FULL_DISK), FULL_DISK)

it('needs no reader: output that nobody takes is no error', async () => {
  expect(await countersignUnread(['--help'])).toEqual({ code: 0, stdout: '', stderr: '' })
})

it('finishes what it has begun when the reader of its output has ended', async () => {
  const { code, stderr } = await countersignUnread(SIMULATE, { env })
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.not.stringContaining('EPIPE') as string })
})

it('subscribes also when the reader of its messages has ended', async () => {
  const service = await startFakeService(sandbox)
  const options = { env: service.env, cwd: await sandbox.directory({}) }
  const { code, stdout } = await countersignUnread(['subscribe', ...TO, ...FILE], options, 'stderr')
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('a.secret') as string })
})

itOnFullDisk('exits with 1 and says so when the disk is too full for its output', async () => {
  expect(await countersignOnFullDisk(['--help'])).toEqual({ code: 1, stdout: '', stderr: LOST })
})

itOnFullDisk('keeps the exit code of a failure when the disk is too full for its output', async () => {
  const { code, stderr } = await countersignOnFullDisk(SIMULATE, { env })
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(LOST) as string })
})
