import { join } from 'node:path'
import express from 'express'
import request from 'supertest'
import { createReceiver, type Outcome } from '../../src/index.js'
import {
  loadRecordedRequests,
  parseRecordedRequest,
  recordedSubscriptions,
  type RecordedRequest,
} from '../../src/testing/recorded-requests.js'
import { fakeClock } from '../support/fake-clock.js'
import { HOST_NAMES } from '../support/hosts.js'
import { runReceiver } from '../support/running-receiver.js'

let recorded: RecordedRequest[]
beforeAll(async () => {
  recorded = await loadRecordedRequests(join(__dirname, '../../fixtures/recorded'))
})

const clock = fakeClock(new Date('2026-11-03T09:20:00Z'))

describe.each(HOST_NAMES)('a receiver in %s', (hostName) => {
  it('makes of each recorded request what its description says', async () => {
    const { send, outcomes } = await runReceiver({
      in: hostName,
      subscriptions: recordedSubscriptions(recorded),
      clock,
    })
    const found = []
    for (const { name, bytes } of recorded) {
      const { status } = await send(bytes)
      found.push({ name, status, outcome: outcomes.at(-1)?.name })
    }
    expect(found).toEqual(recorded.map(({ name, expect }) => ({ name, ...expect })))
    expect(outcomes).toHaveLength(recorded.length)
  })

  it('gives handlers the recorded bytes and no others', async () => {
    const { send, handled } = await runReceiver({
      in: hostName,
      subscriptions: recordedSubscriptions(recorded),
      clock,
    })
    for (const { bytes } of recorded) await send(bytes)
    const genuine = recorded.filter(({ expect }) => expect.outcome === 'handled')
    expect(handled.map(({ rawBody }) => rawBody)).toEqual(
      genuine.map(({ bytes }) => parseRecordedRequest(bytes).body),
    )
  })
})

describe('a receiver that is given Fetch requests', () => {
  it('makes of each recorded request what its description says', async () => {
    const outcomes: Outcome[] = []
    const receiver = createReceiver({ subscriptions: recordedSubscriptions(recorded), clock, logger: false })
      .onAny(() => {})
      .onOutcome((outcome) => outcomes.push(outcome))
    const found = []
    for (const { name, bytes } of recorded) {
      const { method, target, rawHeaders, body } = parseRecordedRequest(bytes)
      const headers = new Headers()
      for (let index = 0; index < rawHeaders.length; index += 2)
        headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
      const url = new URL(target, 'http://127.0.0.1')
      const { status } = await receiver.fetch(new Request(url, { method, headers, body }))
      found.push({ name, status, outcome: outcomes.at(-1)?.name })
    }
    expect(found).toEqual(recorded.map(({ name, expect }) => ({ name, ...expect })))
    expect(outcomes).toHaveLength(recorded.length)
  })
})

describe('a receiver under supertest', () => {
  it.each(['curl', 'python-requests', 'pretty-printed', 'forged-body', 'no-event-type'])(
    'answers the recording %s as its description says',
    async (name) => {
      const { bytes, subscription, expect: expected } = recorded.find((each) => each.name === name)!
      const receiver = createReceiver({ subscriptions: [subscription], clock, logger: false }).onAny(() => {})
      const app = express().post('/hooks/transfers', receiver.middleware())
      const { target, rawHeaders, body } = parseRecordedRequest(bytes)
      const test = request(app).post(target)
      for (let index = 0; index < rawHeaders.length; index += 2) {
        test.set(rawHeaders[index]!, rawHeaders[index + 1]!)
      }
      await test.send(body.toString()).expect(expected.status)
    },
  )
})
