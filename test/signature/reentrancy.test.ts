import { genuine, refused, signedAt, verify } from './genuine.js'

const forged = { authorization: `HMAC-SHA256 Signature=${'A'.repeat(43)}=` }

describe('a list of secrets whose reading verifies another callback', () => {
  test.each([
    ['through a getter', withGetter],
    ['through a Proxy', withProxy],
    ['through an iterator', withIterator],
  ])('%s, lends its signature to no other', (_how, list) => {
    const secret = list(() => expect(verify()).toEqual({ valid: true, signedAt }))
    expect(verify({ ...forged, secret })).toEqual(refused('ERR_SIGNATURE_MISMATCH'))
  })

  test.each([
    ['through a getter', withGetter],
    ['through a Proxy', withProxy],
    ['through an iterator', withIterator],
  ])('%s, takes no signature away', (_how, list) => {
    const secret = list(() => expect(verify(forged)).toEqual(refused('ERR_SIGNATURE_MISMATCH')))
    expect(verify({ secret })).toEqual({ valid: true, signedAt })
  })
})

function withGetter(onRead: () => void): readonly string[] {
  return Object.defineProperty([''], 0, {
    get() {
      onRead()
      return genuine.secret
    },
  })
}

function withProxy(onRead: () => void): readonly string[] {
  return new Proxy([genuine.secret], {
    get(list, name) {
      onRead()
      return Reflect.get(list, name) as unknown
    },
  })
}

function withIterator(onRead: () => void): readonly string[] {
  return Object.assign([genuine.secret], {
    *[Symbol.iterator]() {
      onRead()
      yield genuine.secret
    },
  })
}
