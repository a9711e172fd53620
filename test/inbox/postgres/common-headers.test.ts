import { CommonHeaders, wholeHeaders } from '../../../src/inbox/postgres/common-headers.js'
import { storedHeaders } from '../../../src/inbox/stored-headers.js'
import { arrival } from '../../support/arrivals.js'

type Pair = readonly [string, string]

const LONG = 'a'.repeat(60)
const given = (pairs: readonly Pair[], isCut = false) => ({ ...arrival(), headers: { pairs, isCut } })
const usual = (number: number, agent = LONG): Pair[] => [
  ['Host', 'a.example'],
  ['User-Agent', agent],
  ['X-Request-Id', String(number)],
  ['Accept', '*/*'],
]

/** Divides the headers of a callback, and stores it. */
function store(
  common: CommonHeaders,
  arrived: ReturnType<typeof given>,
): ReturnType<CommonHeaders['divide']> {
  const divided = common.divide(arrived)
  common.learn(arrived)
  return divided
}

/** Stores 32 callbacks. */
function learn(common: CommonHeaders, agent?: string): void {
  for (let number = 0; number < 32; number++)
    expect(store(common, given(usual(number, agent))).common).toBeNull()
}

describe('the common headers of a subscription', () => {
  it('are what 32 callbacks in a row have in common', () => {
    const common = new CommonHeaders()
    learn(common)
    const divided = common.divide(given(usual(99), true))
    expect(divided).toEqual({
      common: JSON.stringify(['Host', 'a.example', 'User-Agent', LONG, 'Accept', '*/*']),
      own: JSON.stringify([2, 'X-Request-Id', '99', 1, true]),
    })
    expect(wholeHeaders(divided)).toBe(storedHeaders({ pairs: usual(99), isCut: true }))
  })

  it('are not used for one that lacks some, or has them in another order, and are kept', () => {
    const common = new CommonHeaders()
    learn(common)
    const others = [usual(1).slice(1), usual(1).toReversed(), []]
    for (const pairs of Array.from({ length: 30 }, () => others).flat()) {
      expect(store(common, given(pairs))).toEqual({
        common: null,
        own: storedHeaders({ pairs, isCut: false }),
      })
      expect(store(common, given(usual(1))).common).not.toBeNull()
    }
  })

  it('are not learned from callbacks that were not stored', () => {
    const common = new CommonHeaders()
    learn(common)
    for (let number = 0; number < 32; number++) common.divide(given(usual(number, LONG + 'b')))
    expect(common.divide(given(usual(1))).common).not.toBeNull()
  })

  it('change once 32 callbacks in a row have others', () => {
    const common = new CommonHeaders()
    learn(common)
    learn(common, LONG + 'b')
    expect(store(common, given(usual(1, LONG + 'b'))).common).toContain(LONG + 'b')
    expect(store(common, given(usual(1))).common).toBeNull()
  })

  it('are none if they are short, or there are no headers', () => {
    const common = new CommonHeaders()
    learn(common, 'a')
    expect(store(common, given(usual(1, 'a'))).common).toBeNull()
    expect(common.divide(arrival())).toEqual({ common: null, own: null })
  })

  it('give back the same headers, whichever they are', () => {
    const names = ['a', 'b', 'c', LONG]
    let seed = 1
    const draw = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (let round = 0; round < 50; round++) {
      const common = new CommonHeaders()
      const base = Array.from({ length: draw(8) }, (): Pair => [names[draw(4)]!, LONG])
      for (let number = 0; number < 100; number++) {
        const pairs = base.flatMap((pair): Pair[] =>
          draw(4) === 0 ? [[names[draw(4)]!, String(draw(2))], pair] : [pair],
        )
        const headers = { pairs, isCut: draw(2) === 0 }
        expect(wholeHeaders(store(common, { ...arrival(), headers }))).toBe(storedHeaders(headers))
      }
    }
  })
})
