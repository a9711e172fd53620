import fs, { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { AddResult } from '../../src/inbox/inbox.js'
import { addEventually } from '../support/add-eventually.js'
import { arrival } from '../support/arrivals.js'
import { inboxFile, inboxOn, openAside, temporaryDirectory } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

type Done = Parameters<typeof fs.fdatasync>[1]

const realSync = fs.fdatasync
const sync = jest.spyOn(fs, 'fdatasync')
/** The syncs that have begun and wait for the test. */
let held: Done[] = []
afterEach(() => {
  for (const done of held.splice(0)) done(null)
  sync.mockImplementation(realSync)
})

/** From now on syncs end when the test says so. */
function holdSyncs(): void {
  sync.mockImplementation((_descriptor, done) => void held.push(done))
}

function endSyncs(error: Error | null = null): void {
  for (const done of held.splice(0)) done(error)
}

const syncFault = () =>
  Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' })

/** Whether a promise has settled after everything that does not wait for a sync has happened. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = () => (settled = true)
  promise.then(note, note)
  await until(() => held.length > 0)
  for (let turns = 0; turns < 10; turns++) await nextTick()
  return settled
}

const CLAIM = { eventTypes: 'any', limit: 10, leaseMs: 60_000 } as const

describe('until the disk has it', () => {
  it('a stored callback is not reported, and the event loop goes on', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.open()
    holdSyncs()
    const adding = inbox.add(arrival())
    expect(await isSettled(adding)).toBe(false)
    endSyncs()
    expect((await adding).result).toBe('stored')
  })

  it('what arrives meanwhile waits for a sync that begins after its commit, and shares it', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.open()
    holdSyncs()
    const first = inbox.add(arrival())
    await until(() => held.length === 1)
    const later = Promise.all([inbox.add(arrival()), inbox.add(arrival()), inbox.add(arrival())])
    endSyncs()
    await first
    expect(await isSettled(later)).toBe(false)
    expect(held).toHaveLength(1)
    endSyncs()
    expect(await later).toHaveLength(3)
  })

  it('a repeat is not recognised by what another process has committed', async () => {
    const file = inboxFile()
    const [one, other] = [inboxOn(file), inboxOn(file)]
    await Promise.all([one.open(), other.open()])
    holdSyncs()
    const twin = arrival()
    const adding = one.add(twin)
    await until(() => held.length === 1)
    let isRecognised = false
    const repeating = other.add(twin).finally(() => (isRecognised = true))
    await until(() => held.length === 2)
    const [syncOfOne, syncOfOther] = held.splice(0)
    syncOfOne!(null)
    expect((await adding).result).toBe('stored')
    for (let turns = 0; turns < 10; turns++) await nextTick()
    expect(isRecognised).toBe(false)
    syncOfOther!(null)
    expect((await repeating).result).toBe('duplicate')
  })

  it.each(['claim', 'begin', 'settle'] as const)('%s does not resolve', async (step) => {
    const inbox = inboxOn(inboxFile())
    await inbox.add(arrival())
    const calls = {
      claim: () => inbox.claim(CLAIM),
      begin: async () => inbox.begin((await inbox.claim(CLAIM)).entries, 60_000),
      settle: async () => {
        const { entries } = await inbox.claim(CLAIM)
        await inbox.begin(entries, 60_000)
        return inbox.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
      },
    }
    holdSyncs()
    const calling = calls[step]()
    const before = ['claim', 'begin', 'settle'].indexOf(step)
    for (let ended = 0; ended < before; ended++) {
      await until(() => held.length === 1)
      endSyncs()
    }
    expect(await isSettled(calling)).toBe(false)
    endSyncs()
    await calling
  })

  it('close does not resolve', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.open()
    holdSyncs()
    const adding = inbox.add(arrival())
    await until(() => held.length === 1)
    const closing = inbox.close()
    expect(await isSettled(closing)).toBe(false)
    endSyncs()
    await closing
    expect((await adding).result).toBe('stored')
  })
})

it('what changes nothing syncs nothing', async () => {
  const inbox = inboxOn(inboxFile())
  await inbox.claim(CLAIM)
  sync.mockClear()
  expect((await inbox.claim({ ...CLAIM, eventTypes: [] })).entries).toEqual([])
  expect(sync).not.toHaveBeenCalled()
})

describe('after a sync that failed', () => {
  it('refuses the whole batch, and says why', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.open()
    holdSyncs()
    const adding = Promise.allSettled([inbox.add(arrival()), inbox.add(arrival())])
    await until(() => held.length === 1)
    endSyncs(syncFault())
    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'ERR_INBOX_IO' }) }
    expect(await adding).toEqual([refused, refused])
  })

  it('recognises what was stored before only after it is in the database, which was synced', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    await inbox.open()
    const twin = arrival()
    await failToSync(inbox.add(twin))
    const syncNow = jest.spyOn(fs, 'fdatasyncSync')
    expect((await addEventually(inbox, twin)).result).toBe('duplicate')
    expect(syncNow).toHaveBeenCalledTimes(1)
    syncNow.mockRestore()
    expect(await entriesIn(copyOf(file, ''))).toBe(1)
  })

  it('acknowledges nothing while another program keeps the log from beginning anew', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file, { busyTimeoutMs: 30 })
    await inbox.add(arrival())
    const reader = await openAside(file)
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM entries').get()
    const twin = arrival()
    await failToSync(inbox.add(twin))
    await expect(inbox.add(twin)).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    const now = performance.now.bind(performance)
    const later = jest.spyOn(performance, 'now').mockImplementation(() => now() + 2_000)
    await expect(inbox.add(twin)).rejects.toMatchObject({ code: 'ERR_INBOX_BUSY' })
    reader.exec('ROLLBACK')
    reader.close()
    expect((await inbox.add(twin)).result).toBe('duplicate')
    later.mockRestore()
  })

  async function failToSync(adding: Promise<AddResult>): Promise<void> {
    holdSyncs()
    const refused = expect(adding).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    await until(() => held.length === 1)
    endSyncs(syncFault())
    await refused
    sync.mockImplementation(realSync)
  }
})

it('loses nothing of what it reported, whenever the power fails', async () => {
  const file = inboxFile()
  const inbox = inboxOn(file)
  await inbox.open()
  const reported: AddResult[] = []
  const images: { readonly file: string; readonly reported: number }[] = []
  // What is on the disk for certain when a sync ends is what had been written when it began.
  sync.mockImplementation((descriptor, done) => {
    const image = copyOf(file, '', '-wal')
    realSync(descriptor, (error) => {
      done(error)
      setImmediate(() => images.push({ file: image, reported: reported.length }))
    })
  })
  const add = async () => reported.push(await inbox.add(arrival({ body: JSON.stringify('x'.repeat(3_000)) })))
  for (let round = 0; round < 60; round++) {
    const adding = [add(), add()]
    if (round % 3 === 0) await nextTick()
    await Promise.all([...adding, add()])
  }
  expect(images.length).toBeGreaterThan(60)
  for (const image of images) expect(await entriesIn(image.file)).toBeGreaterThanOrEqual(image.reported)
})

/** Copies the file and those beside it with these endings, as they would be found after a failure. */
function copyOf(file: string, ...endings: string[]): string {
  const copy = join(temporaryDirectory(), 'copy.db')
  for (const ending of endings) if (existsSync(file + ending)) copyFileSync(file + ending, copy + ending)
  return copy
}

async function entriesIn(file: string): Promise<number> {
  const database = await openAside(file)
  const { count } = database.prepare('SELECT count(*) AS count FROM entries').get() as { count: number }
  database.close()
  return count
}
