import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import fs from 'node:fs/promises'
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

/** Removes no file. */
async function fill(count: number): Promise<void> {
  const write = captureWriter({ folder, keep: 10_000, maxBytes: 1_000_000_000 })
  for (let written = 0; written < count; written++) await write(request(10), new Date(), CODE)
}

test('a capture does not cost more in a folder with more requests', async () => {
  const read = async (count: number): Promise<number> => {
    rmSync(folder, { recursive: true })
    await fill(count)
    const write = captureWriter({ folder, keep: count, maxBytes: 1_000_000_000 })
    await write(request(10), new Date(), CODE)
    const listing = jest.spyOn(fs, 'readdir')
    const asking = jest.spyOn(fs, 'lstat')
    for (let written = 0; written < 100; written++) await write(request(10), new Date(), CODE)
    const listed = await Promise.all(listing.mock.results.map(({ value }) => value as Promise<string[]>))
    const steps = listed.reduce((sum, names) => sum + names.length, asking.mock.calls.length)
    listing.mockRestore()
    asking.mockRestore()
    expect(readdirSync(folder)).toHaveLength(2 * count)
    return steps
  }
  const [few, many] = [await read(100), await read(1_000)]
  expect(many).toBeLessThan(1.5 * few)
})

test('several writers together keep the bounds of a folder with many requests, up to a 64th for each', async () => {
  await fill(600)
  const writers = Array.from({ length: 4 }, () =>
    captureWriter({ folder, keep: 640, maxBytes: 1_000_000_000 }),
  )
  await Promise.all(
    writers.map(async (write) => {
      for (let written = 0; written < 100; written++) await write(request(10), new Date(), CODE)
    }),
  )
  const kept = readdirSync(folder).filter((file) => file.endsWith('.http')).length
  expect(kept).toBeGreaterThanOrEqual(600)
  expect(kept).toBeLessThanOrEqual(640 + 4 * 10)
})

test('after somebody has removed most requests, no more are removed than the bounds ask for', async () => {
  await fill(400)
  const write = captureWriter({ folder, keep: 400, maxBytes: 1_000_000_000 })
  await write(request(10), new Date(), CODE)
  const names = readdirSync(folder).sort()
  for (const name of names.slice(0, 600)) rmSync(join(folder, name))
  for (let written = 0; written < 50; written++) await write(request(10), new Date(), CODE)
  expect(readdirSync(folder).length).toBeGreaterThanOrEqual(200 + 2 * 50 - 2)
})

const otherEnding = (ending: string) => (ending === '.http' ? '.json' : '.http')
