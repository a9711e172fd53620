import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CaptureOptions } from '../../src/capture/capture-options.js'
import { runReceiver } from '../support/running-receiver.js'
import { temporaryDirectory } from '../support/sqlite-file.js'

let parent: string
let folder: string

beforeEach(() => {
  parent = temporaryDirectory()
  folder = join(parent, 'captured')
})

const run = (capture: Partial<CaptureOptions> = {}) => runReceiver({ capture: { folder, ...capture } })

describe('refused at the start', () => {
  test('a folder that is a symbolic link', async () => {
    symlinkSync(tmpdir(), folder)
    await expect(run()).rejects.toMatchObject({ code: 'ERR_OPTION_INVALID', option: 'capture' })
  })

  test('a folder that others can read, with the cure', async () => {
    mkdirSync(folder)
    chmodSync(folder, 0o755)
    await expect(run()).rejects.toThrow(`"chmod 700 ${folder}" first`)
  })

  test('a folder that cannot be created, with the place and the reason', async () => {
    const file = join(parent, 'file')
    writeFileSync(file, '')
    await expect(run({ folder: join(file, 'captured') })).rejects.toThrow(
      `${join(file, 'captured')} cannot be written (ENOTDIR): choose another folder`,
    )
  })

  test.each([
    { keep: 0 },
    { keep: 10_001 },
    { maxBytes: 1 },
    { perSecond: 0 },
    { what: 'some' as never },
    { folder: '' },
    { keepSignatures: 1 as never },
    { kep: 1 } as never,
  ])('%p', async (options) => {
    await expect(run(options)).rejects.toMatchObject({ option: 'capture' })
  })
})
