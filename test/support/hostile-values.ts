import fc from 'fast-check'

const fail = (): never => {
  throw new Error('a trap')
}

/** Throws at every access, `instanceof`, `in` and `typeof x.y` included. */
export function revoked(target: object = {}): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

function trapped(target: object): unknown {
  return new Proxy(target, {
    get: fail,
    has: fail,
    getPrototypeOf: fail,
    ownKeys: fail,
    getOwnPropertyDescriptor: fail,
    set: fail,
    defineProperty: fail,
  })
}

function circular(): Error {
  const error: Error & { cause?: unknown } = new Error('round')
  error.cause = new Error('and round', { cause: error })
  return error
}

/** All but its last error are the same ones each time, as thousands take a while to make. */
let links: unknown
function longChain(): unknown {
  if (!links) {
    links = new Error('the first')
    for (let index = 0; index < 5_000; index++) links = new Error(`link ${index}`, { cause: links })
  }
  return new Error('the last', { cause: links })
}

const PROPERTIES = [
  'name',
  'message',
  'stack',
  'code',
  'cause',
  'constructor',
  'then',
  'toJSON',
  'toString',
] as const

function withProperty(base: object, name: string, descriptor: PropertyDescriptor): object {
  return Object.defineProperty(base, name, { ...descriptor, configurable: true, enumerable: true })
}

function thenable<Value>(
  then: (resolve: (value: Value) => void, reject: (error: unknown) => void) => void,
): PromiseLike<Value> {
  const name = 'THEN'.toLowerCase() // the linter takes an object with `then` for a mistake
  return Object.defineProperty({}, name, { value: then }) as PromiseLike<Value>
}

/** A value by which whoever looks at it carelessly is thrown off. */
const simple: fc.Arbitrary<() => unknown> = fc.constantFrom<() => unknown>(
  () => revoked(),
  () => revoked(new Error()),
  () => revoked(() => {}),
  () => trapped({}),
  () => trapped(new Error()),
  () => Object.create(null),
  () => Symbol('thrown'),
  () => undefined,
  () => null,
  () => 0n,
  () => () => fail(),
  () => thenable(fail),
  () => thenable((_, reject) => reject(revoked())),
  () => circular(),
  longChain,
  () => new Error('x'.repeat(100_000), { cause: revoked() }),
  () => Object.freeze(Object.setPrototypeOf(new Error('frozen'), null)),
)

const errorWith: fc.Arbitrary<() => unknown> = fc
  .tuple(
    fc.constantFrom(...PROPERTIES),
    fc.constantFrom<() => PropertyDescriptor>(
      () => ({ get: fail }),
      () => ({ value: Symbol('no text') }),
      () => ({ value: revoked() }),
      () => ({ value: trapped({}) }),
      () => ({ value: null }),
      () => ({ value: 1n }),
      () => ({ value: fail }),
    ),
    fc.boolean(),
  )
  .map(([name, descriptor, isError]) => () => {
    const base = isError ? new Error('hostile') : { message: 'hostile', name: 'Error' }
    return withProperty(base, name, descriptor())
  })

/** Makes a fresh one at each call. */
export const hostileValue = fc.oneof(simple, errorWith)
