import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { captureWriter } from '../../src/capture/capture-folder.js'

let folder: string

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'capture-')), 'captured')
  mkdirSync(folder, { mode: 0o700 })
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

const CODE = 'ERR_SIGNATURE_MISMATCH'
const request = (bytes: number) => ({ http: Buffer.alloc(bytes, 'x'), json: '{}\n' })
const bytesInFolder = () =>
  readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)

test('a request that another process was writing counts with its whole size', async () => {
  const write = captureWriter({ folder, keep: 100, maxBytes: 10_000 })
  // Later than every request of this test, so that it is not the oldest one.
  const time = new Date(Date.now() + 1_800_000).toISOString().replace(/[-:.]/g, '')
  const other = join(folder, `${time}-000001-0123abcd-err-signature-mismatch`)
  writeFileSync(`${other}.http`, '')
  await write(request(4_000), new Date(), CODE)
  writeFileSync(`${other}.http`, Buffer.alloc(8_000))
  writeFileSync(`${other}.json`, '')
  await write(request(1_000), new Date(), CODE)
  writeFileSync(`${other}.json`, '{}\n')
  await write(request(1_000), new Date(), CODE)
  expect(bytesInFolder()).toBeLessThanOrEqual(10_000)
  expect(statSync(`${other}.http`).size).toBe(8_000)
})

test('several writers together keep the bounds, and leave no half of a pair', async () => {
  const writers = Array.from({ length: 4 }, () => captureWriter({ folder, keep: 3, maxBytes: 5_000 }))
  await Promise.all(
    writers.map(async (write) => {
      for (let written = 0; written < 25; written++) await write(request(1_500), new Date(), CODE)
    }),
  )
  const files = readdirSync(folder)
  expect(bytesInFolder()).toBeLessThanOrEqual(5_000)
  expect(files.filter((file) => file.endsWith('.http')).length).toBeLessThanOrEqual(3)
  const halves = files.filter((file) => !files.includes(file.replace(/\.(http|json)$/, otherEnding)))
  expect(halves).toEqual([])
})

const otherEnding = (ending: string) => (ending === '.http' ? '.json' : '.http')
