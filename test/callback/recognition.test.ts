import { recognise, type KnownOfArrival, type Recognition } from '../../src/callback/recognition.js'

type Row = [KnownOfArrival['key'], KnownOfArrival['signature'], ...Recognition[]]

// The four columns: neither suspect nor forgotten, forgotten, suspect, both.
const TABLE: Row[] = [
  ['unknown', 'unknown', 'new', 'forgotten', 'suspicion', 'suspicion'],
  // Cannot be, as there is no callback with its key; must not be handled if it is.
  ['unknown', 'same-key', 'replay', 'replay', 'suspicion', 'suspicion'],
  ['unknown', 'other-key', 'replay', 'replay', 'suspicion', 'suspicion'],
  ['same-body', 'unknown', 'duplicate', 'duplicate', 'suspicion', 'suspicion'],
  ['same-body', 'same-key', 'duplicate', 'duplicate', 'duplicate', 'duplicate'],
  ['same-body', 'other-key', 'replay', 'replay', 'suspicion', 'suspicion'],
  ['other-body', 'unknown', 'conflict', 'conflict', 'suspicion', 'suspicion'],
  // Cannot be either, as the body is part of what is signed.
  ['other-body', 'same-key', 'conflict', 'conflict', 'suspicion', 'suspicion'],
  ['other-body', 'other-key', 'conflict', 'conflict', 'suspicion', 'suspicion'],
]

describe.each(TABLE)(
  'a callback whose key is %s and whose signature is %s',
  (key, signature, ...expected) => {
    it.each([
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ])('is recognised, suspect: %s, forgotten: %s', (isSuspect, isForgotten) => {
      const column = (isSuspect ? 2 : 0) + (isForgotten ? 1 : 0)
      expect(recognise({ key, signature, isSuspect, isForgotten })).toBe(expected[column])
    })
  },
)

it('the table has every combination', () => {
  expect(new Set(TABLE.map(([key, signature]) => `${key} ${signature}`)).size).toBe(9)
})
