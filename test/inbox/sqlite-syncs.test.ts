import fs, { statSync, truncateSync } from 'node:fs'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { AddResult } from '../../src/inbox/engine.js'
import { addEventually } from '../support/add-eventually.js'
import { arrival } from '../support/arrivals.js'
import { becomes } from '../support/running-worker.js'
import { commitsIn, copyOf, entriesIn, inboxFile, inboxOn, openAside } from '../support/sqlite-file.js'
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

/** Two arrivals whose syncs run at the same time, and a function that ends one of the syncs. */
async function twoSyncs() {
  const inbox = inboxOn(inboxFile())
  await inbox.open()
  holdSyncs()
  const adding = [inbox.add(arrival())]
  await until(() => held.length === 1)
  adding.push(inbox.add(arrival()))
  await until(() => held.length === 2)
  const syncs = [...held]
  const end = (index: number, error: Error | null = null) => {
    held = held.filter((each) => each !== syncs[index])
    syncs[index]!(error)
  }
  return { inbox, adding, end }
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

  it('an arrival is committed at once, and its sync begins while another one runs', async () => {
    const { adding, end } = await twoSyncs()
    end(1)
    expect(await isSettled(adding[1]!)).toBe(false)
    end(0)
    expect((await Promise.all(adding)).map(({ result }) => result)).toEqual(['stored', 'stored'])
  })

  it('a third arrival waits while two syncs run, and shares its sync with a fourth', async () => {
    const { inbox, adding, end } = await twoSyncs()
    const later = Promise.all([inbox.add(arrival()), inbox.add(arrival())])
    expect(await isSettled(later)).toBe(false)
    expect(held).toHaveLength(2)
    end(0)
    await until(() => held.length === 2)
    endSyncs()
    expect(await Promise.all([...adding, later])).toHaveLength(3)
  })

  it('the calls of a worker wait for the running sync, unless an arrival comes', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.open()
    holdSyncs()
    const adding = [inbox.add(arrival())]
    await until(() => held.length === 1)
    const claiming = inbox.claim(CLAIM)
    expect(await isSettled(claiming)).toBe(false)
    expect(held).toHaveLength(1)
    adding.push(inbox.add(arrival()))
    await until(() => held.length === 2)
    endSyncs()
    expect((await claiming).entries).toHaveLength(2)
    await Promise.all(adding)
  })

  describe('a call of a worker for many entries', () => {
    let now: jest.SpiedFunction<typeof performance.now>
    afterEach(() => now.mockRestore())

    /** From the arrival on, time passes only when the test says so. */
    async function besideAnArrival() {
      const inbox = inboxOn(inboxFile())
      await inbox.add(arrival())
      holdSyncs()
      now = jest.spyOn(performance, 'now')
      now.mockReturnValue(performance.now())
      const adding = [inbox.add(arrival())]
      const claiming = inbox.claim({ ...CLAIM, limit: 65 })
      expect(await isSettled(claiming)).toBe(false)
      return { inbox, adding, claiming }
    }

    it('waits until the arrivals have been answered', async () => {
      const { adding, claiming } = await besideAnArrival()
      endSyncs()
      expect((await claiming).entries).toHaveLength(2)
      await Promise.all(adding)
    })

    it('waits no more than 10 ms for one arrival after the other', async () => {
      const { inbox, adding, claiming } = await besideAnArrival()
      now.mockReturnValue(performance.now() + 10)
      adding.push(inbox.add(arrival()))
      expect((await claiming).entries).toHaveLength(3)
      endSyncs()
      await Promise.all(adding)
    })
  })

  it('a repeat is not recognised by what another process has committed', async () => {
    const file = inboxFile()
    const [one, other] = [inboxOn(file), inboxOn(file)]
    await Promise.all([one.open(), other.open()])
    holdSyncs()
    const twin = arrival()
    const adding = one.add(twin)
    await until(() => held.length === 1)
    const repeating = other.add(twin)
    await until(() => held.length === 2)
    const [syncOfOne] = held.splice(0, 1)
    syncOfOne!(null)
    expect((await adding).result).toBe('stored')
    expect(await isSettled(repeating)).toBe(false)
    endSyncs()
    expect((await repeating).result).toBe('duplicate')
  })

  it('a claim resolves without a sync when it is committed, and those of arrivals that share its commit wait', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.add(arrival())
    holdSyncs()
    expect((await inbox.claim(CLAIM)).entries).toHaveLength(1)
    expect(held).toHaveLength(0)
    const adding = inbox.add(arrival())
    expect((await inbox.claim(CLAIM)).entries).toHaveLength(1)
    expect(await isSettled(adding)).toBe(false)
    endSyncs()
    expect((await adding).result).toBe('stored')
  })

  it.each(['begin', 'settle'] as const)('%s does not resolve', async (step) => {
    const inbox = inboxOn(inboxFile())
    await inbox.add(arrival())
    const calls = {
      begin: async () => inbox.begin((await inbox.claim(CLAIM)).entries, 60_000),
      settle: async () => {
        const { entries } = await inbox.claim(CLAIM)
        await inbox.begin(entries, 60_000)
        return inbox.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
      },
    }
    holdSyncs()
    const calling = calls[step]()
    if (step === 'settle') {
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

  it('refuses what was committed after it had begun, whatever the sync of that reports', async () => {
    const { adding, end } = await twoSyncs()
    end(1)
    end(0, syncFault())
    for (const refused of adding) await expect(refused).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
  })

  it('has not refused what an earlier sync has written', async () => {
    const { adding, end } = await twoSyncs()
    const refused = expect(adding[1]).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    end(1, syncFault())
    end(0)
    expect((await adding[0]!).result).toBe('stored')
    await refused
  })

  it('recognises what was stored before only after it is in the database, which was synced', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file)
    await inbox.open()
    const twin = arrival()
    await failToSync(inbox.add(twin))
    expect((await addEventually(inbox, twin)).result).toBe('duplicate')
    expect(await entriesIn(copyOf(file, ''))).toBe(1)
  })

  it('hands back what was stored with a claim, as no handler runs for it', async () => {
    const inbox = inboxOn(inboxFile())
    await inbox.open()
    const begun = arrival()
    await failToSync(inbox.add(begun, { leaseMs: 3_600_000 }))
    const added = await addEventually(inbox, begun)
    expect(added.result).toBe('duplicate')
    expect(await becomes(inbox, added.id, 'stored')).toMatchObject({ attempts: 0 })
    expect((await inbox.claim({ ...CLAIM, interrupted: true })).entries).toMatchObject([{ attempt: 1 }])
  })

  it('acknowledges nothing while another program keeps the log from beginning anew', async () => {
    const file = inboxFile()
    const inbox = inboxOn(file, { busyTimeoutMs: 30 })
    await inbox.add(arrival())
    const reader = await openAside(file)
    reader.exec('BEGIN; SELECT count(*) FROM entries')
    const twin = arrival()
    const realNow = performance.now.bind(performance)
    const now = jest.spyOn(performance, 'now').mockReturnValue(realNow())
    await failToSync(inbox.add(twin))
    await expect(inbox.add(twin)).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    now.mockImplementation(() => realNow() + 2_000)
    await expect(inbox.add(twin)).rejects.toMatchObject({ code: 'ERR_INBOX_BUSY' })
    reader.exec('ROLLBACK')
    reader.close()
    expect((await inbox.add(twin)).result).toBe('duplicate')
    now.mockRestore()
  })

  it.each([1, 2])(
    'another inbox finds out by a mark of %d byte, and the log is not deleted',
    async (bytes) => {
      const file = inboxFile()
      const [inbox, other] = [inboxOn(file, { busyTimeoutMs: 30 }), inboxOn(file, { busyTimeoutMs: 30 })]
      await Promise.all([inbox.add(arrival()), other.add(arrival())])
      const reader = await openAside(file)
      reader.exec('BEGIN; SELECT count(*) FROM entries')
      await inbox.add(arrival())
      truncateSync(`${file}-doubt`, bytes)
      await expect(inbox.add(arrival())).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
      await Promise.all([inbox.close(), other.close()])
      reader.exec('ROLLBACK')
      expect(commitsIn(file)).toBeGreaterThan(0)
      const late = inboxOn(file)
      if (bytes === 2) {
        reader.close()
        await expect(late.open()).rejects.toMatchObject({
          code: 'ERR_INBOX_IO',
          message: expect.stringMatching(/copies of it and of .*-wal .* delete .*-shm and .*-doubt/),
        })
        return
      }
      await late.open()
      expect(statSync(`${file}-doubt`).size).toBe(0)
      expect((await late.stats()).counts.stored).toBe(3)
      reader.close()
    },
  )

  async function failToSync(adding: Promise<AddResult>): Promise<void> {
    holdSyncs()
    const refused = expect(adding).rejects.toMatchObject({ code: 'ERR_INBOX_IO' })
    await until(() => held.length === 1)
    endSyncs(syncFault())
    await refused
    sync.mockImplementation(realSync)
  }
})
