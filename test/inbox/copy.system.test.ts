import { copyEntries, type Copying, type CopyResult } from '../../src/inbox/copy.js'
import { ENGINE, Inbox } from '../../src/inbox/inbox.js'
import type { Entry } from '../../src/inbox/operations.js'
import { describeWithAnyDatabase, type AnyDatabase } from '../support/postgres-inbox.js'
import { inboxFile, inboxOn } from '../support/sqlite-file.js'
import { until } from '../support/until.js'
import type { WholeInbox } from '../support/whole-inbox.js'
import {
  addInOrder,
  ANY,
  beginNext,
  claimDue,
  createArrival,
  done,
  endBy,
  EVENT_TYPE,
  finishNext,
  idsOf,
  INTERRUPTED,
  LONG,
  PLAIN_SUBSCRIPTION,
  RECEIVED_AT,
  settle,
  signedAnew,
  signAt,
  signedAt,
  underAnotherKey,
} from './contract/entries.js'

const STOPPED = { isStopped: true, onProgress: () => {} }
const RUNNING = { isStopped: false, onProgress: () => {} }

describeWithAnyDatabase('a copy', (database) => {
  describe.each([
    ['a file', 'a file'],
    ['a file', 'a database'],
    ['a database', 'a file'],
    ['a database', 'a database'],
  ])('from %s to %s', (from, to) => {
    let source: WholeInbox
    let target: WholeInbox
    beforeEach(async () => {
      source = await open(from, database)
      target = await open(to, database)
    })

    it('has all that the source has', async () => {
      await fill(source)
      const ids = await idsIn(source)
      const result = await copy(source, target, STOPPED)
      expect(result).toMatchObject({ copied: ids.length, outdated: 0, left: 0 })
      await expectSame(source, target)
      expect(await copy(source, target, STOPPED)).toMatchObject({ copied: 0, outdated: 0, left: 0 })
    })

    it('recognises what the source would', async () => {
      const { repeated, anew, suspect } = await fill(source)
      await copy(source, target, STOPPED)
      const known = async (arrival: Parameters<WholeInbox['add']>[0]) => {
        const { result, ...more } = await target.add(arrival)
        return 'why' in more ? more.why : result
      }
      expect(await known(repeated)).toBe('duplicate')
      expect(await known(signedAnew(repeated))).toBe('duplicate')
      expect(await known(underAnotherKey(repeated))).toBe('replay')
      expect(await known(underAnotherKey(anew))).toBe('replay')
      expect(await known(suspect)).toBe('duplicate')
      const lastId = Math.max(...(await idsIn(source)).map(Number))
      expect(Number((await target.add(createArrival())).id)).toBeGreaterThan(lastId)
    })

    it('remembers what was deleted', async () => {
      const arrival = signedAt(createArrival(), RECEIVED_AT)
      await source.add(arrival)
      await finishNext(source, 'complete')
      // Another one that is signed later, for the clock of the service.
      await pruneHandled(source)
      await copy(source, target, STOPPED)
      expect(await target.add(arrival)).toMatchObject({ result: 'quarantined', why: 'forgotten' })
    })

    it('leaves the rest to the workers of the target, each once and in order', async () => {
      const ordered = await addInOrder(source, 3)
      await source.add(createArrival({ type: 'other' }))
      const begun = await claimDue(source, { eventTypes: ['other'], limit: 1, leaseMs: 1 })
      await source.begin(begun, 1)
      await copy(source, target, STOPPED)
      for (const id of ordered) {
        const [claimed, ...others] = await claimDue(target, { ...ANY, eventTypes: [EVENT_TYPE] })
        expect([claimed?.id, others]).toEqual([id, []])
        await target.begin([claimed!], LONG)
        await settle(target, claimed!, endBy('complete'))
      }
      // Its handlers may have been running when the source stopped.
      expect(await claimDue(target, ANY)).toEqual([])
      expect(idsOf(await untilClaimed(target))).toEqual(idsOf(begun))
    })

    it('without --stopped has what is finished, and the next run brings what has changed since', async () => {
      const { dead, repeated } = await fill(source)
      const { counts } = await source.stats()
      const unfinished = counts.stored + counts.retrying + counts.running
      expect(unfinished).toBeGreaterThan(2)
      expect(await copy(source, target, RUNNING)).toMatchObject({ left: unfinished, outdated: 0 })
      expect((await target.stats()).counts).toMatchObject({ ...counts, stored: 0, retrying: 0, running: 0 })

      await done(source.act(dead, 'retry', 'ann'))
      await source.add(signedAnew(repeated))
      expect(await copy(source, target, RUNNING)).toMatchObject({
        copied: 1,
        outdated: 2,
        left: unfinished + 1,
      })
      await copy(source, target, STOPPED)
      await expectSame(source, target)
    })

    it('has no entry any more that was deleted in the source since', async () => {
      await source.add(signedAt(createArrival(), RECEIVED_AT))
      await finishNext(source, 'complete')
      await copy(source, target, RUNNING)
      await pruneHandled(source)
      expect(await copy(source, target, STOPPED)).toMatchObject({ outdated: 1 })
      expect(await idsIn(target)).toEqual(await idsIn(source))
    })

    it('is refused into an inbox that has other entries, or whose workers have begun', async () => {
      await source.add(createArrival())
      const { id } = await target.add(createArrival())
      expect(await copy(source, target, STOPPED)).toEqual({ foreignId: Number(id), why: 'other' })
      expect(await idsIn(target)).toEqual([id])

      const used = await open(to, database)
      await copy(source, used, STOPPED)
      await beginNext(used)
      expect(await copy(source, used, STOPPED)).toMatchObject({ why: 'claimed' })
    })

    it('is refused once the target has stored a callback', async () => {
      await source.add(createArrival())
      await copy(source, target, STOPPED)
      const { id } = await target.add(createArrival())
      expect(await copy(source, target, STOPPED)).toEqual({ foreignId: Number(id), why: 'other' })
    })

    it('keeps an operator able to take back what was decided before', async () => {
      const { discarded } = await fill(source)
      await copy(source, target, STOPPED)
      await done(target.act(discarded, 'undo', 'ann'))
      expect(await target.show(discarded)).toMatchObject({ state: 'quarantined' })
    })
  })

  it('goes on where it was ended', async () => {
    const source = await open('a file', database)
    const target = await open('a database', database)
    for (let count = 0; count < 599; count++) void source.add(createArrival())
    await source.add(createArrival())
    let writes = 0
    const { copying } = engineOf(target)
    const ending: Copying = {
      ...copying!,
      write: (entries) => (++writes === 2 ? Promise.reject(new Error('killed')) : copying!.write(entries)),
    }
    await expect(copyEntries(engineOf(source).copying!, ending, STOPPED)).rejects.toThrow('killed')
    expect((await target.stats()).counts.stored).toBe(500)
    expect(await copy(source, target, STOPPED)).toMatchObject({ copied: 100, outdated: 0 })
    await expectSame(source, target)
  }, 60_000)

  it('holds no more than a few bodies at a time', async () => {
    const source = await open('a file', database)
    const target = await open('a database', database)
    const rawBody = Buffer.alloc(1_048_576, ' ')
    for (let count = 0; count < 9; count++) await source.add(createArrival({ rawBody }))
    const sizes: number[] = []
    const { copying } = engineOf(target)
    const watched: Copying = {
      ...copying!,
      write(entries) {
        sizes.push(entries.length)
        return copying!.write(entries)
      },
    }
    await copyEntries(engineOf(source).copying!, watched, STOPPED)
    expect(sizes).toEqual([4, 4, 1])
  }, 60_000)

  it('says how many unfinished entries lose the text of their order key', async () => {
    const source = await open('a database', database)
    await addInOrder(source, 2)
    expect(await copy(source, await open('a file', database), STOPPED)).toMatchObject({ withoutOrder: 2 })
    expect(await copy(source, await open('a database', database), STOPPED)).toMatchObject({ withoutOrder: 0 })
  })
})

async function open(kind: string, database: AnyDatabase): Promise<WholeInbox> {
  const retention = { retentionMs: 1, discardedRetentionMs: 1 }
  const inbox =
    kind === 'a file'
      ? inboxOn(inboxFile(), { logger: false, ...retention })
      : database.inboxOn(database.newSchema(), { pool: database.pool, ...retention })
  await inbox.open()
  return inbox
}

function engineOf(inbox: WholeInbox) {
  return Reflect.get(Inbox.prototype, ENGINE, inbox)
}

async function copy(source: WholeInbox, target: WholeInbox, options: typeof STOPPED): Promise<CopyResult> {
  const result = await copyEntries(engineOf(source).copying!, engineOf(target).copying!, options)
  return result as CopyResult
}

/** Entries in each state, with everything that an entry can have. */
async function fill(inbox: WholeInbox) {
  const add = (parts?: Parameters<typeof createArrival>[0]) => inbox.add(createArrival(parts))
  const headers = {
    pairs: [
      ['User-Agent', 'service/1'],
      ['X-Nul', 'a\0b'],
    ] as const,
    isCut: true,
  }
  const repeated = createArrival({
    headers,
    traceContext: '00-ab',
    bodyId: 'no uuid',
    orderKey: 'account 1',
  })
  await inbox.add(repeated)
  const anew = signedAt(signedAnew(repeated), RECEIVED_AT + 5)
  await inbox.add(anew)
  await inbox.add(anew)
  await finishNext(inbox, 'complete')
  await inbox.add(signedAnew(repeated))

  const { id: dead } = await add({ subscription: PLAIN_SUBSCRIPTION, headers: { ...headers, isCut: false } })
  await finishNext(inbox, 'deadLetter')
  await done(inbox.act(dead, 'retry', 'ann', { reason: 'the account is open' }))
  const again = await beginNext(inbox)
  await settle(inbox, again, { move: 'reschedule', delayMs: 0, error: 'a\0b', code: 'ERR_HANDLER_FAILED' })
  await finishNext(inbox, 'deadLetter')

  const suspect = createArrival({ suspicion: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE' })
  await inbox.add(suspect)
  await inbox.add(suspect)
  const { id: discarded } = await add({ suspicion: 'ERR_BODY_NOT_JSON' })
  await done(inbox.act(discarded, 'discard', 'bob'))
  const { id: released } = await add({ suspicion: 'ERR_EVENT_TYPE_MISMATCH', type: 'another.type' })
  await done(inbox.act(released, 'release', 'bob'))
  await finishNext(inbox, 'reschedule')
  await add({ rawBody: Buffer.from([0, 255, 10]) })
  await add({ orderKey: 'account 2' })
  await add({ orderKey: 'account 2' })
  return { repeated, anew, suspect, dead, discarded }
}

async function idsIn(inbox: WholeInbox): Promise<string[]> {
  return idsOf((await inbox.list({}, { limit: 1_000 })).entries)
}

/** The entries of both, with what their workers asked for made equal. */
async function expectSame(source: WholeInbox, target: WholeInbox): Promise<void> {
  for (const inbox of [source, target]) await inbox.claim({ eventTypes: 'any', limit: 0, leaseMs: 1 })
  const ids = await idsIn(source)
  expect(await idsIn(target)).toEqual(ids)
  expect((await target.stats()).counts).toEqual((await source.stats()).counts)
  for (const id of ids.slice(0, 30)) {
    expect(await shown(target, id)).toEqual(await shown(source, id))
    expect(await target.related(id)).toEqual(await source.related(id))
  }
}

async function shown(inbox: WholeInbox, id: string): Promise<Entry> {
  return (await inbox.show(id))!
}

/** The clock and the times that the service signs have to move on first. */
async function pruneHandled(inbox: WholeInbox): Promise<void> {
  await until(async () => {
    await signAt(inbox, Date.now())
    return (await inbox.prune({ state: 'handled', limit: 10, olderThanMs: 1 })) === 1
  })
}

async function untilClaimed(inbox: WholeInbox) {
  let claimed = await claimDue(inbox, INTERRUPTED)
  await until(async () => claimed.length > 0 || (claimed = await claimDue(inbox, INTERRUPTED)).length > 0)
  return claimed
}
