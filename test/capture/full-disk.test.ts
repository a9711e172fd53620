import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { CaptureOptions } from '../../src/capture/capture-options.js'
import { itWhere } from '../support/it-where.js'
import { openFiles } from '../support/open-files.js'
import { FORGED, genuine, runReceiver } from '../support/running-receiver.js'
import { canMakeDisks, SmallDisk } from '../support/small-disk.js'
import { until } from '../support/until.js'

const itWithDisks = itWhere(canMakeDisks, 'root to mount a small disk')

describe('a receiver whose folder of captures', () => {
  let disk: SmallDisk
  let folder: string
  beforeEach(() => {
    if (canMakeDisks) disk = new SmallDisk(1)
  })
  afterEach(() => disk?.remove())

  /** A receiver that has captured one request. */
  async function capturing(capture: Partial<CaptureOptions> = {}) {
    folder = join(disk.folder, 'captured')
    const running = await runReceiver({ capture: { folder, perSecond: 100, ...capture } })
    const files = () => (existsSync(folder) ? readdirSync(folder) : [])
    // The second file is there before it has its bytes, and even before it is among the open files.
    const captured = () =>
      files().filter((file) => file.endsWith('.json') && statSync(join(folder, file)).size > 0).length
    const sendForged = async () => {
      const callback = genuine({ payload: { Id: 'x'.repeat(5_000) }, headers: { Authorization: FORGED } })
      expect((await running.send(callback)).status).toBe(401)
    }
    await sendForged()
    await until(() => captured() === 1 && !openFiles().some((file) => file.startsWith(folder)))
    return { ...running, captured, sendForged }
  }

  /** Sends requests, and one genuine callback. The log has one line with the reason, and one with the number of the others. */
  async function expectAnswers({ sendForged, send, receiver, log }: Awaited<ReturnType<typeof capturing>>) {
    for (let sent = 0; sent < 6; sent++) await sendForged()
    expect((await send(genuine())).status).toBe(200)
    await receiver.stop()
    const [first, second, ...more] = log.withCode('WARN_CAPTURE_FAILED')
    expect(second?.fields).toMatchObject({ suppressed: 5 })
    expect(more).toEqual([])
    return first?.fields['err'] as NodeJS.ErrnoException
  }

  itWithDisks('is on a full disk answers as before, and leaves no file without bytes', async () => {
    const running = await capturing()
    disk.fill(0)
    expect((await expectAnswers(running)).code).toBe('ENOSPC')
    expect(running.captured()).toBe(1)
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).size).toBeGreaterThan(0)
  })

  itWithDisks('was on a full disk captures again when there is room', async () => {
    const { sendForged, captured, log } = await capturing()
    disk.fill(0)
    await sendForged()
    await until(() => log.withCode('WARN_CAPTURE_FAILED').length === 1)
    disk.free()
    await sendForged()
    await until(() => captured() === 2)
  })

  itWithDisks('became read-only answers as before', async () => {
    const running = await capturing()
    disk.makeReadOnly()
    expect((await expectAnswers(running)).code).toBe('EROFS')
  })

  itWithDisks('was removed while it runs makes it again', async () => {
    const { sendForged, captured, log } = await capturing()
    rmSync(folder, { recursive: true })
    await sendForged()
    await until(() => captured() === 1)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(log.withCode('WARN_CAPTURE_FAILED')).toEqual([])
  })
})
