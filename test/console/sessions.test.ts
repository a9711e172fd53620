import { KnownBrowsers } from '../../src/console/sign-in/known-browsers.js'
import { Sessions } from '../../src/console/sign-in/sessions.js'
import { fakeClock } from '../support/fake-clock.js'
import { ADA } from './browse.js'

describe('sessions', () => {
  const HOUR_MS = 3_600_000

  it('end after an hour without activity, and after twelve in any case', () => {
    const now = fakeClock(0)
    const sessions = new Sessions(now)
    const idle = sessions.begin(ADA)
    const used = sessions.begin(ADA)
    for (let half = 1; half < 24; half++) {
      now.advance(HOUR_MS / 2)
      expect(sessions.find(used, true)).toBe(ADA)
      expect(sessions.find(idle, false)).toBe(half < 2 ? ADA : undefined)
    }
    now.advance(HOUR_MS / 2)
    expect(sessions.find(used, true)).toBeUndefined()
  })

  it('are at most 1,000: the oldest ends first', () => {
    const sessions = new Sessions(fakeClock(0))
    const secrets = Array.from({ length: 1_001 }, () => sessions.begin(ADA))
    expect(secrets.map((secret) => sessions.find(secret, false) !== undefined).indexOf(true)).toBe(1)
    expect(new Set(secrets).size).toBe(1_001)
  })
})

describe('known browsers', () => {
  it('are known for the user who signed in last', () => {
    const browsers = new KnownBrowsers()
    browsers.remember('one', 'ada')
    expect([browsers.isKnown('one', 'ada'), browsers.isKnown('one', 'bob')]).toEqual([true, false])
    expect(browsers.isKnown('two', 'ada')).toBe(false)
    browsers.remember('one', 'bob')
    expect([browsers.isKnown('one', 'ada'), browsers.isKnown('one', 'bob')]).toEqual([false, true])
  })

  it('are at most 1,000: the one that signed in longest ago is forgotten', () => {
    const browsers = new KnownBrowsers()
    browsers.remember('again', 'ada')
    browsers.remember('once', 'ada')
    browsers.remember('again', 'ada')
    for (let count = 0; count < 999; count++) browsers.remember(`${count}`, 'bob')
    expect([browsers.isKnown('once', 'ada'), browsers.isKnown('again', 'ada')]).toEqual([false, true])
  })
})
