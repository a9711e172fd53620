import { setImmediate as nextTick } from 'node:timers/promises'
import { EventChannel } from '../../src/events/event-channel.js'
import { publishAnswer } from '../../src/events/publish-answer.js'
import { ArrivedRequest } from '../../src/http/arrived-request.js'
import { outcome } from '../../src/callback/outcomes.js'

const answered = {
  outcome: outcome('HANDLED'),
  unverified: { idempotencyKey: 'a', eventType: 'b' },
  durationMs: 1,
}

function setUp() {
  const errors: unknown[][] = []
  return { channel: new EventChannel((...error) => errors.push(error)), errors }
}

describe('a channel', () => {
  it('calls the listeners of the name, in order, before publish() returns', () => {
    const { channel } = setUp()
    const calls: unknown[] = []
    channel.on('answered', (event) => calls.push(['first', event]))
    channel.on('answered', (event) => calls.push(['second', event]))
    channel.on('refused', () => calls.push('another name'))
    channel.publish('answered', answered)
    expect(calls).toEqual([
      ['first', answered],
      ['second', answered],
    ])
  })

  it('says whether there is a listener', () => {
    const { channel } = setUp()
    expect(channel.has('answered')).toBe(false)
    const end = [channel.on('answered', () => {}), channel.on('answered', () => {})]
    expect(channel.has('answered')).toBe(true)
    expect(channel.has('refused')).toBe(false)
    for (const unsubscribe of end) unsubscribe()
    expect(channel.has('answered')).toBe(false)
  })

  it('ends one subscription of a listener that was subscribed twice', () => {
    const { channel } = setUp()
    const listener = jest.fn()
    const end = channel.on('answered', listener)
    channel.on('answered', listener)
    end()
    end()
    channel.publish('answered', answered)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  it('calls the other listeners when one ends its subscription', () => {
    const { channel } = setUp()
    const listener = jest.fn()
    const end: () => void = channel.on('answered', () => end())
    channel.on('answered', listener)
    channel.publish('answered', answered)
    channel.publish('answered', answered)
    expect(listener).toHaveBeenCalledTimes(2)
  })

  it('reports what a listener throws or rejects with, and calls the others', async () => {
    const { channel, errors } = setUp()
    const listener = jest.fn()
    channel.on('answered', () => {
      throw new Error('thrown')
    })
    channel.on('answered', () => Promise.reject(new Error('rejected')))
    channel.on('answered', listener)
    channel.publish('answered', answered)
    expect(listener).toHaveBeenCalledTimes(1)
    await nextTick()
    expect(errors).toEqual([
      [new Error('thrown'), answered],
      [new Error('rejected'), answered],
    ])
  })

  it.each([
    ['answer', () => {}, /^events\.on: "answer" is not an event\. The events are accepted, /],
    [undefined, () => {}, /^events\.on: a value of type undefined is not an event/],
    ['answered', undefined, /^events\.on: the listener is undefined: pass a function\.$/],
    [
      'answered',
      function* () {},
      /^events\.on: the listener is a generator function: pass an ordinary function\.$/,
    ],
  ])('refuses to subscribe %p with %p', (name, listener, message) => {
    const listen = () => setUp().channel.on(name as 'answered', listener as () => void)
    expect(listen).toThrow(
      expect.objectContaining({ code: 'ERR_HANDLER_INVALID', message: expect.stringMatching(message) }),
    )
  })
})

describe('an answer', () => {
  const request = new ArrivedRequest('POST', '/', {
    headers: { 'x-idempotency-key': 'k'.repeat(101), 'x-event-type': 'a\u001b[31m' },
  })

  it('is told with what the request claims, bounded and printable', () => {
    const { channel } = setUp()
    const told: unknown[] = []
    channel.on('refused', (event) => told.push(event))
    publishAnswer(channel, { request, outcome: outcome('ERR_SIGNATURE_MISMATCH'), durationMs: 3 })
    expect(told).toEqual([
      {
        outcome: outcome('ERR_SIGNATURE_MISMATCH'),
        unverified: { idempotencyKey: 'k'.repeat(100), eventType: 'a?[31m' },
        durationMs: 3,
      },
    ])
  })

  it('costs nothing without a listener: its headers are not looked at', () => {
    const { channel } = setUp()
    const request = new Proxy({}, { get: raise }) as never
    const answered = { request, outcome: outcome('HANDLED'), durationMs: 3 }
    expect(() => publishAnswer(channel, answered)).not.toThrow()
    channel.on('stored', () => {})
    expect(() => publishAnswer(channel, answered)).not.toThrow()
    channel.on('answered', () => {})
    expect(() => publishAnswer(channel, answered)).toThrow('was looked at')
  })
})

function raise(): never {
  throw new Error('was looked at')
}
