import { CountersignError } from '../../src/base/errors.js'
import fc from 'fast-check'
import { signCallback, type SignInput } from '../../src/signature/index.js'
import { formatHttpDate } from '../../src/signature/timestamp.js'
import { genuine, verify } from './genuine.js'
import { anyText } from '../support/any-text.js'
import { randomRuns } from '../support/random-runs.js'

const FAILURES = [
  'ERR_AUTHORIZATION_MISSING',
  'ERR_AUTHORIZATION_MALFORMED',
  'ERR_AUTHORIZATION_REPEATED',
  'ERR_TIMESTAMP_MISSING',
  'ERR_TIMESTAMP_MALFORMED',
  'ERR_TIMESTAMP_REPEATED',
  'ERR_SIGNATURE_MISMATCH',
  'ERR_CALLBACK_URL_INVALID',
  'ERR_SECRET_INVALID',
  'ERR_BODY_NOT_BYTES',
]
const CODES = [
  'ERR_CALLBACK_URL_INVALID',
  'ERR_SECRET_INVALID',
  'ERR_TIMESTAMP_MALFORMED',
  'ERR_BODY_NOT_BYTES',
]

const oddities: unknown[] = [
  Symbol('garbage'),
  [Symbol('garbage')],
  () => 'garbage',
  Array(1),
  Array(3),
  [[genuine.authorization]],
  new String(genuine.authorization),
  new Date(NaN),
  Object.create(null),
  {
    toString() {
      throw new Error('toString')
    },
  },
  { length: 1, 0: genuine.authorization },
  { [Symbol.toStringTag]: 'Uint8Array', length: 4, byteLength: 4 },
  Object.create(Uint8Array.prototype),
  Object.create(Array.prototype),
  Object.create(String.prototype),
  new Proxy(Buffer.from('{}'), {}),
  new Uint8Array(new SharedArrayBuffer(8)),
  detached(),
  'x'.repeat(1_000_000),
  '\ud800',
  'http://',
  'http://[::1',
  `http://${'a.'.repeat(5_000)}/`,
]

const garbage = fc.oneof(
  fc.constantFrom(...oddities),
  fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  }),
  anyText(),
  fc.string().map((text) => `HMAC-SHA256 Signature=${text}`),
  fc.array(fc.string()),
)
const examples = oddities.map((value): [unknown] => [value])

const signFields = { callbackUrl: garbage, secret: garbage, timestamp: garbage, body: garbage }
const verifyFields = { ...signFields, authorization: garbage }

describe('verifyCallback answers with a documented code, and no exception, to garbage', () => {
  test.each(Object.keys(verifyFields))('for %s alone', (field) => {
    fc.assert(
      fc.property(garbage, (value) => expectRefusal({ [field]: value })),
      { examples, numRuns: randomRuns(500) },
    )
  })

  test('for any of its fields', () => {
    const changes = fc.record(verifyFields, { requiredKeys: [] })
    fc.assert(
      fc.property(changes, (garbled) => {
        fc.pre(Object.keys(garbled).length > 0)
        expectRefusal(garbled)
      }),
      { numRuns: randomRuns(500) },
    )
  })

  function expectRefusal(changes: object): void {
    const verdict = verify(changes)
    expect(FAILURES).toContain(verdict.valid ? 'accepted' : verdict.code)
  }
})

describe('signCallback throws an error with a documented code, or makes what verifies, given garbage', () => {
  test.each(Object.keys(signFields))('for %s alone', (field) => {
    fc.assert(
      fc.property(garbage, (value) => expectCodeOrSignature({ [field]: value })),
      { examples, numRuns: randomRuns(500) },
    )
  })

  test('for any of its fields', () => {
    fc.assert(fc.property(fc.record(signFields, { requiredKeys: [] }), expectCodeOrSignature), {
      numRuns: randomRuns(500),
    })
  })

  function expectCodeOrSignature(changes: object): void {
    const input = { ...genuine, ...changes } as SignInput
    let authorization: string
    try {
      authorization = signCallback(input)
    } catch (error) {
      expect(error).toBeInstanceOf(CountersignError)
      expect(CODES).toContain((error as { code?: unknown }).code)
      return
    }
    const timestamp = input.timestamp instanceof Date ? formatHttpDate(input.timestamp) : input.timestamp
    const body = typeof input.body === 'string' ? Buffer.from(input.body) : input.body
    expect(verify({ ...input, timestamp, body, authorization })).toMatchObject({ valid: true })
  }
})

function detached(): Uint8Array {
  const bytes = new Uint8Array(8)
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  return bytes
}
