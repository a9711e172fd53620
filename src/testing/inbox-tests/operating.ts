import assert from 'node:assert/strict'
import type { EntryId } from '../../callback/callback.js'
import type { SeenEntry } from '../../inbox/operations.js'
import { MOVES, type InboxState } from '../../inbox/states.js'
import {
  addIn,
  ANY,
  claimDue,
  claimNext,
  createArrival,
  done,
  EVENT_TYPE,
  finishNext,
  idsOf,
  NO_ID,
  PLAIN_SUBSCRIPTION,
  settle,
  signedAnew,
  stateOf,
  STATES,
  underAnotherKey,
  withAnotherBody,
  refusalOf,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerOperating({ describe, it }: Suite): void {
  describe('when a person retries', () => {
    it('gives a dead letter again, from attempt 1', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'deadLetter')
      await done(inbox.act(id, 'retry', 'ann'))
      const claim = await claimNext(inbox)
      assert.equal(claim.id, id)
      assert.equal(claim.attempt, 1)
    })

    it('gives what was handled again only when told to, and says that it is a replay', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'complete')
      assert.equal(
        await refusalOf(inbox.act(id, 'retry', 'ann')),
        `entry ${id} was handled; retry would handle it a second time`,
      )
      await done(inbox.act(id, 'retry', 'ann', { again: true }))
      assert.equal((await inbox.show(id))?.finishedAt, undefined)
      assert.equal((await claimNext(inbox)).replayed, true)
    })

    it('retries and releases the callbacks of a tenant whatever became of those of another', async ({
      inbox,
    }) => {
      const ours = createArrival()
      await inbox.add(ours)
      await finishNext(inbox, 'complete')
      const { idempotencyKey, subscription } = ours.callback
      const callback = { ...ours.callback, subscription: { ...subscription, id: 'tenant-2' } }
      const theirs = { ...signedAnew(ours), callback, key: `${idempotencyKey}@tenant-2` }
      const { id } = await inbox.add(theirs)
      await finishNext(inbox, 'deadLetter')
      assert.deepEqual(await inbox.related(id), [])
      await done(inbox.act(id, 'retry', 'ann'))
      const third = { ...signedAnew(theirs), key: `${idempotencyKey}@tenant-3`, suspicion: 'stale' }
      await done(inbox.act((await inbox.add(third)).id, 'release', 'ann'))
      assert.equal((await inbox.list({ idempotencyKey })).length, 3)
    })

    it('says by a code why it did nothing', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const codeOf = async (given: EntryId, action: 'retry' | 'release') => {
        const result = await inbox.act(given, action, 'ann')
        return result.done ? 'done' : result.code
      }
      assert.equal(await codeOf(NO_ID, 'retry'), 'not-found')
      assert.equal(await codeOf(id, 'release'), 'state')
      await finishNext(inbox, 'complete')
      assert.equal(await codeOf(id, 'retry'), 'repeat')
    })

    it('gives what waits for its retry at once', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'reschedule')
      await done(inbox.act(id, 'retry', 'ann'))
      assert.equal((await claimNext(inbox)).id, id)
    })

    it('fences off the claim from before', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const late = await finishNext(inbox, 'deadLetter')
      await done(inbox.act(id, 'retry', 'ann'))
      await claimNext(inbox)
      assert.equal(await settle(inbox, late, { move: 'complete' }), false)
    })
  })

  describe('when a person releases from quarantine', () => {
    it('hands out what was released as the type that was subscribed, not as the one that its header claims', async ({
      inbox,
    }) => {
      const suspect = createArrival({
        type: 'transfers.rewritten',
        subscription: PLAIN_SUBSCRIPTION,
        suspicion: 'another type',
      })
      const { id } = await inbox.add(suspect)
      await done(inbox.act(id, 'release', 'ann'))
      const claimed = await claimNext(inbox)
      assert.equal(claimed.id, id)
      assert.equal(claimed.callback.type, EVENT_TYPE)
    })

    it('gives the entry, and says that it is a replay', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival({ suspicion: 'stale' }))
      await done(inbox.act(id, 'release', 'ann'))
      const claim = await claimNext(inbox)
      assert.equal(claim.id, id)
      assert.equal(claim.attempt, 1)
      assert.equal(claim.replayed, true)
    })

    it('says duplicate to a copy of it from then on, suspect or not', async ({ inbox }) => {
      const arrival = createArrival()
      const suspect = { ...arrival, suspicion: 'stale' }
      const { id } = await inbox.add(suspect)
      await done(inbox.act(id, 'release', 'ann'))
      assert.deepEqual(await inbox.add(suspect), { result: 'duplicate', id })
      assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
      assert.deepEqual(await inbox.add(signedAnew(arrival)), { result: 'duplicate', id })
    })

    it('does not release what has been stored since', async ({ inbox }) => {
      const arrival = createArrival()
      const { id } = await inbox.add({ ...arrival, suspicion: 'stale' })
      const { id: storedId } = await inbox.add(arrival)
      await finishNext(inbox, 'complete')
      assert.equal(
        await refusalOf(inbox.act(id, 'release', 'ann')),
        `the same callback is entry ${storedId}, handled`,
      )
      assert.equal(await stateOf(inbox, id), 'quarantined')
    })

    it('releases one of two repeats, and not the other', async ({ inbox }) => {
      const suspect = createArrival({ suspicion: 'stale' })
      const { id } = await inbox.add(suspect)
      const { id: repeatId } = await inbox.add(signedAnew(suspect))
      await done(inbox.act(id, 'release', 'ann'))
      assert.equal(
        await refusalOf(inbox.act(repeatId, 'release', 'ann')),
        `the same callback is entry ${id}, stored`,
      )
    })

    it('releases a repeat of what was discarded', async ({ inbox }) => {
      const suspect = createArrival({ suspicion: 'stale' })
      const { id } = await inbox.add(suspect)
      const { id: repeatId } = await inbox.add(signedAnew(suspect))
      await done(inbox.act(id, 'discard', 'ann'))
      await done(inbox.act(repeatId, 'release', 'ann'))
      assert.equal((await claimNext(inbox)).id, repeatId)
    })

    it('releases a conflict, which goes on being one for copies', async ({ inbox }) => {
      const arrival = createArrival()
      const conflict = withAnotherBody(arrival)
      const { id: firstId } = await inbox.add(arrival)
      const { id } = await inbox.add(conflict)
      await done(inbox.act(id, 'release', 'ann', { again: true }))
      assert.deepEqual(new Set(idsOf(await claimDue(inbox, ANY))), new Set([firstId, id]))
      assert.deepEqual(await inbox.add(conflict), { result: 'duplicate', id })
      assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id: firstId })
    })

    it('releases one of two conflicts with the same body, and not the other', async ({ inbox }) => {
      const arrival = createArrival()
      const conflict = withAnotherBody(arrival)
      await inbox.add(arrival)
      const { id } = await inbox.add(conflict)
      const { id: repeatId } = await inbox.add(signedAnew(conflict))
      await done(inbox.act(id, 'release', 'ann', { again: true }))
      assert.match(
        (await refusalOf(inbox.act(repeatId, 'release', 'ann')))!,
        / is (that of )?entry \S+, stored$/,
      )
    })

    it('releases what came under another key, which only counts copies', async ({ inbox }) => {
      const arrival = createArrival()
      const replay = underAnotherKey(arrival)
      await inbox.add(arrival)
      const { id } = await inbox.add(replay)
      await done(inbox.act(id, 'release', 'ann', { again: true }))
      assert.equal((await claimDue(inbox, ANY)).length, 2)
      assert.deepEqual(await inbox.add(replay), { result: 'duplicate', id })
    })
  })

  describe('when a person acts', () => {
    it('says that an entry is not there', async ({ inbox }) => {
      assert.equal(await refusalOf(inbox.act(NO_ID, 'retry', 'ann')), `there is no entry ${NO_ID}`)
    })

    for (const action of ['retry', 'release', 'discard'] as const) {
      for (const state of STATES) {
        const isPossible = (MOVES[action].from as readonly InboxState[]).includes(state)
        it(`${isPossible ? 'can' : 'cannot'} ${action} what is ${state}`, async ({ inbox }) => {
          const id = await addIn(state, inbox)
          const before = await inbox.show(id)
          const again = action === 'retry' && state === 'handled'
          const refusal = await refusalOf(inbox.act(id, action, 'ann', { again }))
          if (isPossible) {
            assert.equal(refusal, undefined)
            assert.equal(await stateOf(inbox, id), MOVES[action].to)
          } else {
            assert.match(refusal ?? 'done', new RegExp(`^entry ${id} is ${state}; `))
            assert.deepEqual(await inbox.show(id), before)
          }
        })
      }
    }

    for (const action of ['discard', 'retry', 'undo'] as const) {
      it(`does not ${action} an entry that has changed since the person saw it`, async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'deadLetter')
        await done(inbox.act(id, 'discard', 'ann'))
        await done(inbox.act(id, 'undo', 'ann'))
        if (action === 'undo') await done(inbox.act(id, 'retry', 'ann'))
        const [seen] = await inbox.list({})
        const now = await inbox.show(id)
        const { state, attempts, finishedAt } = seen!
        const others: SeenEntry[] = [
          { state: state === 'dead' ? 'stored' : 'dead', attempts, finishedAt },
          { state, attempts: attempts + 1, finishedAt },
          { state, attempts, finishedAt: new Date(Number(finishedAt ?? 0) + 1) },
          { state, attempts, finishedAt: finishedAt === undefined ? new Date(0) : undefined },
        ]
        for (const expected of others) {
          const result = await inbox.act(id, action, 'bob', { expected })
          assert.deepEqual(result, {
            done: false,
            code: 'changed',
            message: `entry ${id} is ${state}: it has changed since you saw it`,
          })
        }
        assert.deepEqual(await inbox.show(id), now)
        await done(inbox.act(id, action, 'bob', { expected: seen }))
      })
    }

    it('lets one of two persons act on a dead letter that both saw, though it is one again', async ({
      inbox,
    }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'deadLetter')
      const seen = (await inbox.show(id))!
      await done(inbox.act(id, 'retry', 'ann', { expected: seen }))
      await claimNext(inbox)
      assert.equal(
        await refusalOf(inbox.act(id, 'discard', 'bob', { expected: seen })),
        `entry ${id} is running: it has changed since you saw it`,
      )
    })

    for (const by of ['', ' ', 'x'.repeat(101), 'ann\nbob', 'ann\u202ebob', undefined as unknown as string]) {
      it(`refuses the name ${JSON.stringify(by)?.slice(0, 20)}`, async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await assert.rejects(async () => inbox.act(id, 'discard', by), {
          code: 'ERR_OPTION_INVALID',
          option: 'by',
        })
        assert.deepEqual((await inbox.show(id))!.history, [])
        await done(inbox.act(id, 'discard', 'x'.repeat(100)))
      })
    }

    it('records what was done, when and by whom', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival({ suspicion: 'stale' }))
      await done(inbox.act(id, 'release', 'ann'))
      await done(inbox.act(id, 'discard', 'bob'))
      const history = (await inbox.show(id))!.history
      assert.deepEqual(
        history.map(({ action, by }) => ({ action, by })),
        [
          { action: 'release', by: 'ann' },
          { action: 'discard', by: 'bob' },
        ],
      )
      assert.ok(history.every(({ at }) => at instanceof Date && !Number.isNaN(Number(at))))
    })

    it('lets exactly one of concurrent persons do it', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'deadLetter')
      const refusals = await Promise.all(
        Array.from({ length: 10 }, () => refusalOf(inbox.act(id, 'retry', 'ann'))),
      )
      assert.equal(refusals.filter((refusal) => refusal === undefined).length, 1)
      assert.equal((await inbox.show(id))?.history.length, 1)
    })
  })
}
