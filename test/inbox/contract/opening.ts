import assert from 'node:assert/strict'
import type { InboxOpener } from '../../../src/inbox/engine.js'
import { createArrival, done, NO_ID, refusalOf } from './entries.js'
import type { Suite } from './suite.js'

export function registerOpening({ describe, it }: Suite): void {
  describe('when several have opened it', () => {
    it('stays open until the last of them closes it', async ({ inbox }) => {
      const [receiver, worker]: InboxOpener[] = [{}, {}]
      await inbox.open(receiver)
      await inbox.open(worker)
      await inbox.open(worker)
      await inbox.close(worker)
      await inbox.close(worker)
      await inbox.close()
      assert.equal((await inbox.add(createArrival())).result, 'stored')
      await inbox.close(receiver)
    })

    it('stays open if one closes it that has not opened it', async ({ inbox }) => {
      await inbox.close({})
      assert.equal((await inbox.add(createArrival())).result, 'stored')
    })

    it('tells each of them once of a decision, and none after it has closed the inbox', async ({ inbox }) => {
      const told: unknown[][] = []
      const opener = (name: string): InboxOpener => ({
        decided: (id, action, { by, reason }) => told.push([name, id, action, by, reason]),
      })
      const [receiver, worker] = [opener('receiver'), opener('worker')]
      for (const each of [receiver, worker, worker]) await inbox.open(each)
      const { id } = await inbox.add(createArrival())
      await done(inbox.act(id, 'discard', 'ann', { reason: 'paid by hand' }))
      await inbox.close(worker)
      await done(inbox.act(id, 'undo', 'bob'))
      await inbox.close(receiver)
      assert.deepEqual(told, [
        ['receiver', id, 'discard', 'ann', 'paid by hand'],
        ['worker', id, 'discard', 'ann', 'paid by hand'],
        ['receiver', id, 'undo', 'bob', undefined],
      ])
    })

    it('tells nobody of a decision that is refused', async ({ inbox }) => {
      let told = 0
      const opener: InboxOpener = { decided: () => void told++ }
      await inbox.open(opener)
      await refusalOf(inbox.act(NO_ID, 'retry', 'ann'))
      await inbox.close(opener)
      assert.equal(told, 0)
    })
  })
}
