import fs from 'node:fs'
import type { AddResult } from '../../src/inbox/engine.js'
import { arrival } from '../support/arrivals.js'
import { copyOf, entriesIn, inboxFile, inboxOn } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

const realSync = fs.fdatasync
const sync = jest.spyOn(fs, 'fdatasync')
afterEach(() => {
  sync.mockImplementation(realSync)
})

it('loses nothing of what it reported, whenever the power fails', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  await inbox.open()
  sync.mockClear()
  const reported: AddResult[] = []
  const images: { readonly file: string; readonly reported: number }[] = []
  // What is on the disk for certain when a sync ends is what had been written when it began; or when a later one began, if that
  // has ended as well.
  const copies: string[] = []
  let latestEnded = 0
  sync.mockImplementation((descriptor, done) => {
    const index = copies.push(copyOf(file, '', '-wal')) - 1
    realSync(descriptor, (error) => {
      latestEnded = Math.max(latestEnded, index)
      done(error)
      setImmediate(() => images.push({ file: copies[latestEnded]!, reported: reported.length }))
    })
  })
  const add = async () => reported.push(await inbox.add(arrival({ body: JSON.stringify('x'.repeat(3_000)) })))
  for (let round = 0; round < 60; round++) {
    const adding = [add(), add()]
    const begun = sync.mock.calls.length
    // Its sync then begins while that of the others runs.
    if (round % 3 === 0) await until(() => sync.mock.calls.length > begun)
    await Promise.all([...adding, add()])
  }
  await until(() => images.length === sync.mock.calls.length)
  expect(images.length).toBeGreaterThan(70)
  for (const image of images) expect(await entriesIn(image.file)).toBeGreaterThanOrEqual(image.reported)
})
