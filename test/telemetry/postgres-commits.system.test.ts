import { prometheusMetrics } from '../../src/prometheus.js'
import { createReceiver } from '../../src/index.js'
import { arrival } from '../support/arrivals.js'
import { describeWithAnyDatabase } from '../support/postgres-inbox.js'
import { subscription } from '../support/subscription.js'
import { samplesOf } from './samples.js'

describeWithAnyDatabase('the metrics of a PostgreSQL inbox', ({ inboxOn, newSchema }) => {
  it('have the commits of arriving callbacks, and the entries', async () => {
    const inbox = inboxOn(newSchema())
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const receiver = createReceiver({ subscriptions: [subscription], inbox, logger })
    const metrics = prometheusMetrics()
    const end = metrics.observe(receiver)
    await receiver.start()
    await Promise.all(Array.from({ length: 10 }, () => inbox.add(arrival())))
    const found = samplesOf(await metrics.text())
    expect(found.get('countersign_inbox_commit_operations_sum')).toBe(10)
    expect(found.get('countersign_inbox_commit_duration_seconds_count')).toBeLessThanOrEqual(2)
    expect(found.get('countersign_inbox_entries{inbox="default",state="stored"}')).toBe(10)
    end()
    await receiver.stop()
  })
})
