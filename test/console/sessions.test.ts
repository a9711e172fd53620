import { KnownBrowsers } from '../../src/console/sign-in/known-browsers.js'
import { Sessions } from '../../src/console/sign-in/sessions.js'
import { fakeClock } from '../support/fake-clock.js'
import { ADA, BOB } from './browse.js'

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

  it('are at most 50 of one user: the oldest ends first, and those of others stay', () => {
    const now = fakeClock(0)
    const sessions = new Sessions(now)
    const ended = sessions.begin(ADA)
    now.advance(HOUR_MS)
    const other = sessions.begin(ADA)
    const secrets = Array.from({ length: 2_000 }, () => sessions.begin(BOB))
    expect(secrets.map((secret) => sessions.find(secret, false) !== undefined).indexOf(true)).toBe(1_950)
    expect([ended, other].map((secret) => sessions.find(secret, false))).toEqual([undefined, ADA])
    expect(new Set(secrets).size).toBe(2_000)
  })

  it('of a user do not end early for those that have ended', () => {
    const now = fakeClock(0)
    const sessions = new Sessions(now)
    const first = sessions.begin(ADA)
    Array.from({ length: 49 }, () => sessions.begin(ADA))
    now.advance(HOUR_MS / 2)
    sessions.find(first, true)
    now.advance(HOUR_MS / 2)
    Array.from({ length: 49 }, () => sessions.begin(ADA))
    expect(sessions.find(first, false)).toBe(ADA)
    sessions.begin(ADA)
    expect(sessions.find(first, false)).toBeUndefined()
  })
})

describe('known browsers', () => {
  it('are known for the users who signed in', () => {
    const browsers = new KnownBrowsers()
    browsers.remember('one', 'ada')
    expect([browsers.isKnown('one', 'ada'), browsers.isKnown('one', 'bob')]).toEqual([true, false])
    expect(browsers.isKnown('two', 'ada')).toBe(false)
    browsers.remember('one', 'bob')
    expect([browsers.isKnown('one', 'ada'), browsers.isKnown('one', 'bob')]).toEqual([true, true])
  })

  it('are at most 50 of one user: the one that signed in longest ago is forgotten, and none of others', () => {
    const browsers = new KnownBrowsers()
    browsers.remember('of ada', 'ada')
    browsers.remember('again', 'bob')
    browsers.remember('once', 'bob')
    browsers.remember('again', 'bob')
    for (let count = 0; count < 49; count++) browsers.remember(`${count}`, 'bob')
    expect([browsers.isKnown('once', 'bob'), browsers.isKnown('again', 'bob')]).toEqual([false, true])
    for (let count = 0; count < 2_000; count++) browsers.remember(`more ${count}`, 'bob')
    expect(browsers.isKnown('of ada', 'ada')).toBe(true)
  })
})
