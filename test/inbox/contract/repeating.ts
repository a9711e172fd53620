import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import type { Arrival } from '../../../src/inbox/engine.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import type { InboxState } from '../../../src/inbox/states.js'
import {
  ANY,
  claimDue,
  createArrival,
  done,
  endBy,
  finishNext,
  idsOf,
  LONG,
  NO_ID,
  settle,
  signedAnew,
  stateOf,
  underAnotherKey,
  withAnotherBody,
  refusalOf,
} from './entries.js'
import type { Suite } from './suite.js'

/** Ways in which one callback can have a second entry, in quarantine, and what the two share. */
const COPIES: Readonly<Record<string, { of: (arrival: Arrival) => Arrival; shares: RegExp }>> = {
  'a replay': { of: underAnotherKey, shares: /^its signature is that of entry/ },
  'a conflict': { of: withAnotherBody, shares: /^its idempotency key is that of entry/ },
  'a late repeat': {
    of: (arrival) => ({ ...signedAnew(arrival), suspicion: 'stale' }),
    shares: /^the same callback is entry/,
  },
}

const FORBIDDING = ['stored', 'running', 'retrying', 'handled', 'dead', 'unhandled', 'discarded'] as const

export function registerRepeating({ describe, it }: Suite): void {
  describe('when a callback has two entries', () => {
    for (const [name, { of, shares }] of Object.entries(COPIES)) {
      for (const state of FORBIDDING) {
        it(`does not release ${name} of what is ${state}, unless told to handle it again`, async ({
          inbox,
        }) => {
          const { arrival, id: firstId } = await addAs(state, inbox)
          const { id } = await inbox.add(of(arrival))
          assert.equal(await stateOf(inbox, id), 'quarantined')
          const before = await inbox.show(id)
          const refusal = await refusalOf(inbox.act(id, 'release', 'ann'))
          assert.match(refusal ?? 'done', shares)
          assert.match(refusal!, new RegExp(` entry ${firstId}, ${state}`))
          assert.deepEqual(await inbox.show(id), before)
          await done(inbox.act(id, 'release', 'ann', { again: true }))
          assert.equal(await stateOf(inbox, id), state === 'unhandled' ? 'unhandled' : 'stored')
        })
      }

      it(`does not retry a dead letter of which ${name} was released`, async ({ inbox }) => {
        const { arrival, id } = await addAs('dead', inbox)
        const { id: copyId } = await inbox.add(of(arrival))
        await done(inbox.act(copyId, 'release', 'ann', { again: true }))
        assert.match(
          (await refusalOf(inbox.act(id, 'retry', 'ann'))) ?? 'done',
          new RegExp(` entry ${copyId}, stored$`),
        )
        await finishNext(inbox, 'complete')
        assert.match(
          (await refusalOf(inbox.act(id, 'retry', 'ann'))) ?? 'done',
          new RegExp(` entry ${copyId}, handled$`),
        )
        await done(inbox.act(id, 'retry', 'ann', { again: true }))
      })

      it(`retries a dead letter beside ${name} in quarantine or discarded from there`, async ({ inbox }) => {
        for (const isDiscarded of [false, true]) {
          const { arrival, id } = await addAs('dead', inbox)
          const { id: copyId } = await inbox.add(of(arrival))
          if (isDiscarded) await done(inbox.act(copyId, 'discard', 'ann'))
          await done(inbox.act(id, 'retry', 'ann'))
          await finishNext(inbox, 'complete')
        }
      })

      it(`discards ${name} of what was handled`, async ({ inbox }) => {
        const { arrival } = await addAs('handled', inbox)
        const { id } = await inbox.add(of(arrival))
        await done(inbox.act(id, 'discard', 'ann'))
      })
    }

    it('releases one of two that share a signature that is known of neither, and not the other', async ({
      inbox,
    }) => {
      const suspect = createArrival({ suspicion: 'stale' })
      const { id } = await inbox.add(suspect)
      const { id: sameKey } = await inbox.add({ ...withAnotherBody(suspect), suspicion: 'stale' })
      await done(inbox.act(id, 'release', 'ann'))
      assert.equal(
        await refusalOf(inbox.act(sameKey, 'release', 'ann')),
        `its idempotency key is that of entry ${id}, stored`,
      )
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [id])
    })

    it('lets exactly one of them be released by concurrent persons', async ({ inbox }) => {
      const suspect = createArrival({ suspicion: 'stale' })
      const { id } = await inbox.add(suspect)
      const others = await Promise.all(Array.from({ length: 5 }, () => inbox.add(signedAnew(suspect))))
      const refusals = await Promise.all(
        [id, ...others.map((other) => other.id)].map((each) => refusalOf(inbox.act(each, 'release', 'ann'))),
      )
      assert.equal(refusals.filter((refusal) => refusal === undefined).length, 1)
      assert.equal((await claimDue(inbox, ANY)).length, 1)
    })

    it('does not release what has the signature of a repeat that was signed anew', async ({ inbox }) => {
      const { arrival, id: firstId } = await addAs('handled', inbox)
      const repeated = signedAnew(arrival)
      assert.equal((await inbox.add(repeated)).result, 'duplicate')
      const { id } = await inbox.add(underAnotherKey(repeated))
      assert.equal(
        await refusalOf(inbox.act(id, 'release', 'ann')),
        `its signature is that of entry ${firstId}, handled`,
      )
    })

    it('does not retry what was released with the signature of a repeat of it', async ({ inbox }) => {
      const { arrival, id } = await addAs('dead', inbox)
      const repeated = signedAnew(arrival)
      await inbox.add(repeated)
      const { id: replayId } = await inbox.add(underAnotherKey(repeated))
      await done(inbox.act(replayId, 'release', 'ann', { again: true }))
      assert.equal(
        await refusalOf(inbox.act(id, 'retry', 'ann')),
        `its signature is that of entry ${replayId}, stored`,
      )
    })

    it('does not take the same key of another subscription for the same callback', async ({ inbox }) => {
      const { arrival } = await addAs('handled', inbox)
      const { signature, ...other } = signedAnew(arrival)
      const { id } = await inbox.add({ ...other, signature, key: `${arrival.key} other`, suspicion: 'stale' })
      assert.deepEqual(await inbox.related(id), [])
      await done(inbox.act(id, 'release', 'ann'))
    })

    it('releases all that differ', async ({ inbox }) => {
      for (let i = 0; i < 3; i++) {
        const { id } = await inbox.add(createArrival({ suspicion: 'stale' }))
        await done(inbox.act(id, 'release', 'ann'))
      }
      assert.equal((await claimDue(inbox, ANY)).length, 3)
    })
  })

  describe('when asked which entries are related', () => {
    it('tells what they share, and whether they were ever accepted', async ({ inbox }) => {
      const arrival = createArrival()
      const { id } = await inbox.add(arrival)
      const ids = []
      for (const { of } of Object.values(COPIES)) ids.push((await inbox.add(of(arrival))).id)
      await inbox.add(createArrival())
      const [replay, conflict, repeated] = ids as [EntryId, EntryId, EntryId]
      const inQuarantine = { state: 'quarantined', accepted: false } as const
      assert.deepEqual(await inbox.related(id), [
        { id: replay, shares: 'signature', ...inQuarantine },
        { id: conflict, shares: 'key', ...inQuarantine },
        { id: repeated, shares: 'callback', ...inQuarantine },
      ])
      assert.deepEqual(await inbox.related(replay), [
        { id, state: 'stored', shares: 'signature', accepted: true },
      ])
    })

    it('tells nothing of an entry that is not there', async ({ inbox }) => {
      assert.deepEqual(await inbox.related(NO_ID), [])
    })
  })
}

/** Adds an entry that is known, and brings it into a state. */
async function addAs(
  state: Exclude<InboxState, 'quarantined'>,
  inbox: WholeInbox,
): Promise<{ arrival: Arrival; id: EntryId }> {
  const arrival = createArrival()
  const { id } = await inbox.add(arrival)
  if (state === 'unhandled') await inbox.claim({ ...ANY, eventTypes: ['other'] })
  if (state === 'discarded') await done(inbox.act(id, 'discard', 'ann'))
  const move = ({ retrying: 'reschedule', handled: 'complete', dead: 'deadLetter' } as const)[state as 'dead']
  if (move || state === 'running') {
    const [claim] = await claimDue(inbox, { ...ANY, limit: 1, leaseMs: LONG })
    assert.equal(claim?.id, id)
    if (move) await settle(inbox, claim, endBy(move))
  }
  assert.equal(await stateOf(inbox, id), state)
  return { arrival, id }
}
