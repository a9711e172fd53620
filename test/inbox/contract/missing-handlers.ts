import assert from 'node:assert/strict'
import type { WholeInbox } from '../../support/whole-inbox.js'
import {
  addInOrder,
  ANY,
  claimDue,
  claimNext,
  createArrival,
  done,
  endBy,
  EVENT_TYPE,
  idsOf,
  refusalOf,
  settle,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

const HANDLED = { ...ANY, eventTypes: [EVENT_TYPE] }
const OTHER = { ...ANY, eventTypes: ['other'] }

export function registerMissingHandlers({ describe, it }: Suite): void {
  describe('of a type that no worker asks for', () => {
    it('shows nothing as unhandled while no worker has ever asked', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      assert.equal(await stateOf(inbox, id), 'stored')
      assert.equal((await inbox.stats()).counts.unhandled, 0)
      await inbox.claim({ ...ANY, eventTypes: [] })
      assert.equal(await stateOf(inbox, id), 'stored')
    })

    it('shows what waits as unhandled', async ({ inbox }) => {
      const { id: stored } = await inbox.add(createArrival())
      const { id: retrying } = await inbox.add(createArrival({ type: 'retried' }))
      const [claimed] = await claimDue(inbox, { ...ANY, eventTypes: ['retried'] })
      await settle(inbox, claimed!, endBy('reschedule'))
      await done(inbox.act(retrying, 'retry', 'ann'))
      const { id: handled } = await inbox.add(createArrival({ type: 'retried' }))
      assert.equal(await stateOf(inbox, stored), 'unhandled')
      const { unhandled, stored: counted } = (await inbox.stats()).counts
      assert.deepEqual({ unhandled, counted }, { unhandled: 1, counted: 2 })
      assert.deepEqual(idsOf((await inbox.list({ states: ['unhandled'] })).entries), [stored])
      assert.deepEqual(idsOf((await inbox.list({ states: ['stored'] })).entries), [retrying, handled])
      assert.deepEqual(idsOf((await inbox.list({ states: ['stored', 'unhandled'] })).entries), [
        stored,
        retrying,
        handled,
      ])
      assert.equal((await inbox.show(stored))?.dueAt, undefined)
    })

    it('shows what waits for its retry as unhandled, and counts its attempts on', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const claim = await beginOnly(inbox)
      await settle(inbox, claim, { move: 'reschedule', delayMs: 0, error: 'busy' })
      assert.equal(await stateOf(inbox, id), 'retrying')
      const { id: foreign } = await inbox.add(createArrival({ type: 'foreign' }))
      assert.deepEqual(idsOf((await inbox.list({ states: ['unhandled'] })).entries), [foreign])
      assert.equal((await beginOnly(inbox)).attempt, 2)
    })

    it('does not show what is running as unhandled', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival({ suspicion: 'stale' }))
      await inbox.claim(OTHER)
      assert.equal(await stateOf(inbox, id), 'quarantined')
      await done(inbox.act(id, 'release', 'ann'))
      assert.equal(await stateOf(inbox, id), 'unhandled')
      await claimDue(inbox, HANDLED)
      assert.equal(await stateOf(inbox, id), 'running')
    })

    it('counts also what waits behind another entry of its order key', async ({ inbox }) => {
      await addInOrder(inbox, 3)
      await inbox.claim(OTHER)
      assert.equal((await inbox.stats()).counts.unhandled, 3)
    })

    it('shows it as unhandled also while it waits behind an entry of a type that has a handler', async ({
      inbox,
    }) => {
      const orderKey = 'account 1'
      const { id: first } = await inbox.add(createArrival({ orderKey }))
      const { id: second } = await inbox.add(createArrival({ type: 'foreign', orderKey }))
      await inbox.claim({ ...HANDLED, limit: 0 })
      assert.equal(await stateOf(inbox, first), 'stored')
      assert.equal(await stateOf(inbox, second), 'unhandled')
      const { stored, unhandled } = (await inbox.stats()).counts
      assert.deepEqual({ stored, unhandled }, { stored: 1, unhandled: 1 })
    })

    it('gives it to the first worker that asks for its type, as stored before', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      assert.deepEqual(await claimDue(inbox, OTHER), [])
      assert.equal(await stateOf(inbox, id), 'unhandled')
      const [claimed] = await claimDue(inbox, HANDLED)
      assert.equal(claimed?.id, id)
      assert.equal(claimed.attempt, 1)
      assert.equal(claimed.replayed, false)
      await settle(inbox, claimed, { move: 'handBack' })
      assert.equal(await stateOf(inbox, id), 'stored')
    })

    it('shows nothing as unhandled once a worker asks for any type', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await inbox.claim(OTHER)
      await inbox.claim({ ...ANY, limit: 0 })
      assert.equal(await stateOf(inbox, id), 'stored')
      assert.equal((await claimNext(inbox)).id, id)
    })

    it('takes the type * for one type', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await inbox.claim({ ...ANY, eventTypes: ['*'] })
      assert.equal(await stateOf(inbox, id), 'unhandled')
    })

    it('refuses to retry it, with the cure', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await inbox.claim(OTHER)
      assert.match(
        (await refusalOf(inbox.act(id, 'retry', 'ann'))) ?? 'done',
        /^entry \S+ is unhandled; .*register one, or discard/,
      )
      assert.equal((await inbox.stats()).counts.unhandled, 1)
    })

    it('says duplicate to a repeat of it', async ({ inbox }) => {
      const arrival = createArrival()
      const { id } = await inbox.add(arrival)
      await inbox.claim(OTHER)
      assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
      assert.equal(await stateOf(inbox, id), 'unhandled')
    })
  })
}

async function beginOnly(inbox: WholeInbox) {
  const [claimed] = await claimDue(inbox, HANDLED)
  assert.ok(claimed)
  await inbox.begin([claimed], HANDLED.leaseMs)
  return claimed
}
