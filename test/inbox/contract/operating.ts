import assert from 'node:assert/strict'
import type { SeenEntry } from '../../../src/inbox/operations.js'
import { MOVES, type InboxState } from '../../../src/inbox/states.js'
import {
  addIn,
  claimNext,
  createArrival,
  done,
  finishNext,
  NO_ID,
  refusalOf,
  stateOf,
  STATES,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerOperating({ describe, it }: Suite): void {
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
        const [seen] = (await inbox.list({})).entries
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
