import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { registerArriving } from './inbox-tests/arriving.js'
import { registerAsking } from './inbox-tests/asking.js'
import { registerAttempts } from './inbox-tests/attempts.js'
import { registerBeginning } from './inbox-tests/beginning.js'
import { registerBeginningOnArrival } from './inbox-tests/beginning-on-arrival.js'
import { registerClaiming } from './inbox-tests/claiming.js'
import { registerDeleting } from './inbox-tests/deleting.js'
import { registerEnding } from './inbox-tests/ending.js'
import { registerMissingHandlers } from './inbox-tests/missing-handlers.js'
import { registerOpening } from './inbox-tests/opening.js'
import { registerOperating } from './inbox-tests/operating.js'
import { registerOrdering } from './inbox-tests/ordering.js'
import { registerReleasing } from './inbox-tests/releasing.js'
import { registerRepeating } from './inbox-tests/repeating.js'
import { registerRetrying } from './inbox-tests/retrying.js'
import { registerSearching } from './inbox-tests/searching.js'
import { registerTwoClocks } from './inbox-tests/two-clocks.js'
import { registerUndoing } from './inbox-tests/undoing.js'
import { createArrival, LONG } from './inbox-tests/entries.js'
import type { InboxUnderTest, RetentionUnderTest, Suite } from './inbox-tests/suite.js'
import { globalFramework, type TestFramework } from './test-framework.js'

export type { InboxUnderTest, RetentionUnderTest } from './inbox-tests/suite.js'

/**
 * Registers the tests that every `CompleteInbox` must pass.
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
      assert.deepEqual(await inbox.list({}), [])
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
