import { setImmediate as nextTick } from 'node:timers/promises'
import { EventChannel } from '../../src/events/event-channel.js'
import { publishAnswer } from '../../src/events/publish-answer.js'
import { outcome } from '../../src/callback/outcomes.js'

const answered = { outcome: outcome('HANDLED'), idempotencyKey: 'a', eventType: 'b', durationMs: 1 }

function setUp() {
  const errors: unknown[][] = []
  return { channel: new EventChannel((...error) => errors.push(error)), errors }
}

describe('a channel', () => {
  it('calls the listeners of the name, in order, before publish() returns', () => {
    const { channel } = setUp()
    const calls: unknown[] = []
    channel.subscribe('answered', (event) => calls.push(['first', event]))
    channel.subscribe('answered', (event) => calls.push(['second', event]))
    channel.subscribe('refused', () => calls.push('another name'))
    channel.publish('answered', answered)
    expect(calls).toEqual([
      ['first', answered],
      ['second', answered],
    ])
  })

  it('says whether there is a subscriber', () => {
    const { channel } = setUp()
    expect(channel.has('answered')).toBe(false)
    const end = [channel.subscribe('answered', () => {}), channel.subscribe('answered', () => {})]
    expect(channel.has('answered')).toBe(true)
    expect(channel.has('refused')).toBe(false)
    for (const unsubscribe of end) unsubscribe()
    expect(channel.has('answered')).toBe(false)
  })

  it('ends one subscription of a listener that was subscribed twice', () => {
    const { channel } = setUp()
    const listener = jest.fn()
    const end = channel.subscribe('answered', listener)
    channel.subscribe('answered', listener)
    end()
    end()
    channel.publish('answered', answered)
    expect(listener).toHaveBeenCalledTimes(1)
  })

  it('calls the other listeners when one ends its subscription', () => {
    const { channel } = setUp()
    const listener = jest.fn()
    const end: () => void = channel.subscribe('answered', () => end())
    channel.subscribe('answered', listener)
    channel.publish('answered', answered)
    channel.publish('answered', answered)
    expect(listener).toHaveBeenCalledTimes(2)
  })

  it('reports what a listener throws or rejects with, and calls the others', async () => {
    const { channel, errors } = setUp()
    const listener = jest.fn()
    channel.subscribe('answered', () => {
      throw new Error('thrown')
    })
    channel.subscribe('answered', () => Promise.reject(new Error('rejected')))
    channel.subscribe('answered', listener)
    channel.publish('answered', answered)
    expect(listener).toHaveBeenCalledTimes(1)
    await nextTick()
    expect(errors).toEqual([
      [new Error('thrown'), answered],
      [new Error('rejected'), answered],
    ])
  })

  it.each([
    ['answer', () => {}, /^subscribe: "answer" is not an event\. The events are accepted, /],
    [undefined, () => {}, /^subscribe: a value of type undefined is not an event/],
    ['answered', undefined, /^subscribe: the listener is undefined: pass a function\.$/],
    [
      'answered',
      function* () {},
      /^subscribe: the listener is a generator function: pass an ordinary function\.$/,
    ],
  ])('refuses to subscribe %p with %p', (name, listener, message) => {
    const subscribe = () => setUp().channel.subscribe(name as 'answered', listener as () => void)
    expect(subscribe).toThrow(
      expect.objectContaining({ code: 'ERR_HANDLER_INVALID', message: expect.stringMatching(message) }),
    )
  })
})

describe('an answer', () => {
  const headers = { idempotencyKey: 'k'.repeat(101), eventType: 'a\u001b[31m' } as never

  it('is told with what the request claims, bounded and printable', () => {
    const { channel } = setUp()
    const told: unknown[] = []
    channel.subscribe('refused', (event) => told.push(event))
    publishAnswer(channel, outcome('ERR_SIGNATURE_MISMATCH'), headers, 3)
    expect(told).toEqual([
      {
        outcome: outcome('ERR_SIGNATURE_MISMATCH'),
        idempotencyKey: 'k'.repeat(100),
        eventType: 'a?[31m',
        durationMs: 3,
      },
    ])
  })

  it('costs nothing without a subscriber: its headers are not looked at', () => {
    const { channel } = setUp()
    const unread = new Proxy({}, { get: raise }) as never
    expect(() => publishAnswer(channel, outcome('HANDLED'), unread, 3)).not.toThrow()
    channel.subscribe('stored', () => {})
    expect(() => publishAnswer(channel, outcome('HANDLED'), unread, 3)).not.toThrow()
    channel.subscribe('answered', () => {})
    expect(() => publishAnswer(channel, outcome('HANDLED'), unread, 3)).toThrow('was looked at')
  })
})

function raise(): never {
  throw new Error('was looked at')
}
