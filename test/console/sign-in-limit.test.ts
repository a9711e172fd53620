import { SignInLimit, type SignInAttempt } from '../../src/console/sign-in/sign-in-limit.js'
import { fakeClock } from '../support/fake-clock.js'

describe('the limit of attempts', () => {
  const ADA_HERE = { name: 'ada', address: '10.0.0.1' }
  const DAY_MS = 86_400_000

  /** Tries a password whenever that is possible, for so long. Returns how many were tried. */
  function guessFor(ms: number, attempt: () => SignInAttempt, { limit, now }: ReturnType<typeof limited>) {
    const end = now() + ms
    let guesses = 0
    for (;;) {
      const next = attempt()
      const waitMs = limit.waitMs(next)
      if (now() + waitMs >= end) return guesses
      now.advance(waitMs)
      limit.failed(next)
      guesses++
    }
  }

  function limited() {
    const now = fakeClock(0)
    return { now, limit: new SignInLimit(now, (name) => ['ada', 'bob'].includes(name)) }
  }

  it('delays a user at an address twice as long after each failure, up to 15 minutes', () => {
    const { now, limit } = limited()
    const waits: number[] = []
    for (let failures = 0; failures < 16; failures++) {
      limit.failed(ADA_HERE)
      waits.push(limit.waitMs(ADA_HERE) / 1_000)
      now.advance(waits.at(-1)! * 1_000)
      expect(limit.waitMs(ADA_HERE)).toBe(0)
    }
    expect(waits).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900])
  })

  it('delays neither another user at the address, nor the user at another address', () => {
    const { limit } = limited()
    for (let failures = 0; failures < 20; failures++) limit.failed(ADA_HERE)
    expect(limit.waitMs({ ...ADA_HERE, name: 'bob' })).toBe(0)
    expect(limit.waitMs({ ...ADA_HERE, address: '10.0.0.2' })).toBe(0)
  })

  it('starts again after a success, and after a day without failures', () => {
    for (const end of ['success', 'day']) {
      const { limit, now } = limited()
      for (let failures = 0; failures < 20; failures++) limit.failed(ADA_HERE)
      if (end === 'success') limit.succeeded(ADA_HERE)
      else now.advance(DAY_MS)
      limit.failed(ADA_HERE)
      expect(limit.waitMs(ADA_HERE)).toBe(0)
    }
  })

  it('leaves at most 110 guesses a day for one user from one address', () => {
    expect(guessFor(DAY_MS, () => ADA_HERE, limited())).toBe(109)
  })

  it.each(['ada', 'nobody'])(
    'leaves at most 1,540 guesses a day for %s from any number of addresses',
    (name) => {
      let count = 0
      expect(guessFor(DAY_MS, () => ({ name, address: `10.0.0.${count++}` }), limited())).toBe(1_539)
    },
  )

  it('does not delay a user for the failures of other names, whether they exist or not', () => {
    const { limit } = limited()
    for (let count = 0; count < 5_000; count++) {
      limit.failed({ name: `nobody ${count}`, address: `${count}` })
      limit.failed({ name: 'bob', address: `${count % 700}` })
    }
    expect(limit.waitMs(ADA_HERE)).toBe(0)
  })

  it('does not forget the failures for a user when there are many for other names', () => {
    const { limit } = limited()
    for (let failures = 0; failures < 20; failures++) limit.failed(ADA_HERE)
    const waitMs = limit.waitMs(ADA_HERE)
    for (let count = 0; count < 5_000; count++) limit.failed({ name: `nobody ${count}`, address: '10.0.0.1' })
    expect(limit.waitMs(ADA_HERE)).toBe(waitMs)
  })

  it('delays a name that nobody has as that of a user, so that nobody learns which names exist', () => {
    const { limit } = limited()
    const waits = (name: string) =>
      Array.from({ length: 120 }, (_, count) => {
        limit.failed({ name, address: `${count % 10}` })
        return limit.waitMs({ name, address: 'new' })
      })
    expect(waits('nobody')).toEqual(waits('ada'))
  })

  it('does not delay a browser with which the user signed in before, for the failures of others', () => {
    const { limit, now } = limited()
    const known = { ...ADA_HERE, knownBrowser: 'a secret' }
    guessFor(DAY_MS, () => ADA_HERE, { limit, now })
    for (let address = 0; address < 200; address++) limit.failed({ name: 'ada', address: `${address}` })
    expect(limit.waitMs(ADA_HERE)).toBeGreaterThan(0)
    expect(limit.waitMs({ name: 'ada', address: 'elsewhere' })).toBeGreaterThan(0)
    expect(limit.waitMs(known)).toBe(0)
    expect(guessFor(DAY_MS, () => known, { limit, now })).toBe(109)
    // Somebody else may sign in with the same browser.
    expect(limit.waitMs({ ...known, name: 'bob' })).toBe(0)
  })

  it.each([
    [999, true],
    [1_000, false],
  ])('keeps a bounded number of users and addresses: after %d others', (others, isKept) => {
    const { limit, now } = limited()
    for (let failures = 0; failures < 20; failures++) limit.failed(ADA_HERE)
    for (let address = 0; address < others; address++) limit.failed({ name: 'bob', address: `${address}` })
    // The failures of all together are forgotten, and this one is not.
    now.advance(DAY_MS - 1)
    limit.failed(ADA_HERE)
    expect(limit.waitMs(ADA_HERE) > 0).toBe(isKept)
  })
})
