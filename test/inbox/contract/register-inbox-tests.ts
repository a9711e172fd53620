import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { registerArriving } from './arriving.js'
import { registerAsking } from './asking.js'
import { registerAttempts } from './attempts.js'
import { registerBeginning } from './beginning.js'
import { registerBeginningOnArrival } from './beginning-on-arrival.js'
import { registerClaiming } from './claiming.js'
import { registerDeleting } from './deleting.js'
import { registerEnding } from './ending.js'
import { registerMissingHandlers } from './missing-handlers.js'
import { registerOpening } from './opening.js'
import { registerOperating } from './operating.js'
import { registerOrdering } from './ordering.js'
import { registerReleasing } from './releasing.js'
import { registerRepeating } from './repeating.js'
import { registerRetrying } from './retrying.js'
import { registerSearching } from './searching.js'
import { registerTwoClocks } from './two-clocks.js'
import { registerUndoing } from './undoing.js'
import { createArrival, LONG } from './entries.js'
import type { InboxUnderTest, RetentionUnderTest, Suite } from './suite.js'
import { globalFramework, type TestFramework } from '../../../src/testing/test-framework.js'

export type { InboxUnderTest, RetentionUnderTest } from './suite.js'

/**
 * Registers the tests that every `WholeInbox` must pass.
 *
 * `createInbox` is called once for each test; it makes an empty inbox with these retentions. The inbox is opened before the
 * test and closed after it. An inbox whose clock cannot be set may really wait in `advance`: all waits together take less than a
 * minute.
 */
export function registerInboxTests(
  createInbox: (context: RetentionUnderTest) => Promise<InboxUnderTest> | InboxUnderTest,
  framework: TestFramework = globalFramework('registerInboxTests'),
): void {
  const { describe } = framework

  const it: Suite['it'] = (name, test, retentionMs = LONG) =>
    framework.it(name, async () => {
      const subject = await createInbox({ retentionMs, discardedRetentionMs: retentionMs })
      await subject.inbox.open()
      try {
        await test(subject)
      } finally {
        await subject.inbox.close()
      }
    })

  const suite = { describe, it }

  describe('an inbox', () => {
    it('tells how long it remembers', async ({ inbox }) => {
      assert.equal(inbox.retentionMs, LONG)
      assert.equal(inbox.discardedRetentionMs, LONG)
    })

    it('can be opened twice', async ({ inbox }) => {
      await inbox.open()
      assert.equal((await inbox.add(createArrival())).result, 'stored')
    })

    it('can be closed twice', async ({ inbox }) => {
      await inbox.close()
      await inbox.close()
    })

    it('remembers a probe for as long as it is asked to', async ({ inbox }) => {
      const [nonce, other] = [randomUUID(), randomUUID()]
      const remember = async (each: string, sentAtMs: number) =>
        inbox.rememberProbe?.(each, sentAtMs, sentAtMs - 900)
      if (!inbox.rememberProbe) return
      const answers = await Promise.all([remember(nonce, 1_000), remember(nonce, 1_000)])
      assert.equal(answers.filter((isNew) => isNew).length, 1)
      assert.equal(await remember(other, 1_900), true)
      assert.equal(await remember(nonce, 1_000), false)
      assert.equal(await remember(randomUUID(), 1_901), true)
      assert.equal(await remember(nonce, 1_000), true)
      assert.deepEqual((await inbox.list({})).entries, [])
      assert.equal((await inbox.add(createArrival())).result, 'stored')
    })

    registerOpening(suite)
    registerArriving(suite)
    registerClaiming(suite)
    registerBeginning(suite)
    registerBeginningOnArrival(suite)
    registerEnding(suite)
    registerOrdering(suite)
    registerRetrying(suite)
    registerReleasing(suite)
    registerOperating(suite)
    registerRepeating(suite)
    registerMissingHandlers(suite)
    registerDeleting(suite)
    registerTwoClocks(suite)
    registerAsking(suite)
    registerAttempts(suite)
    registerUndoing(suite)
    registerSearching(suite)
  })
}
