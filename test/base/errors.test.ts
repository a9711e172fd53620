import { ClientError } from '../../src/client/client-error.js'
import { CountersignError, DoNotRetryError, RetryLaterError } from '../../src/index.js'
import { RecordedRequestError } from '../../src/testing.js'

/** The same classes of another version of the package, which the program has loaded as well. */
function loadedAgain() {
  let modules!: typeof import('../../src/index.js') & typeof import('../../src/client/client-error.js')
  jest.isolateModules(() => {
    modules = {
      ...jest.requireActual('../../src/index.js'),
      ...jest.requireActual('../../src/client/client-error.js'),
    }
  })
  return modules
}

describe('instanceof', () => {
  const other = loadedAgain()

  it('holds for an error of another loaded version, for its class and those that it extends', () => {
    expect(other.DoNotRetryError).not.toBe(DoNotRetryError)
    const error: unknown = new other.DoNotRetryError('no such account')
    expect(error instanceof DoNotRetryError).toBe(true)
    expect(error instanceof CountersignError).toBe(true)
    expect(error instanceof RetryLaterError).toBe(false)
    const ofClient: unknown = new other.ClientError('ERR_TOKEN_REFUSED', 'refused')
    expect(ofClient instanceof ClientError).toBe(true)
    expect(ofClient instanceof RecordedRequestError).toBe(false)
  })

  it('holds for no other error, whatever its code is', () => {
    const others: unknown[] = [
      Object.assign(new Error('no'), { code: 'ERR_DO_NOT_RETRY', name: 'DoNotRetryError' }),
      new other.CountersignError('ERR_DO_NOT_RETRY', 'no'),
      'ERR_DO_NOT_RETRY',
      null,
    ]
    for (const each of others) expect(each instanceof DoNotRetryError).toBe(false)
  })

  it('is as usual for a class that extends one of them', () => {
    class NoSuchAccount extends DoNotRetryError {}
    expect(new NoSuchAccount('no') instanceof DoNotRetryError).toBe(true)
    const error: unknown = new other.DoNotRetryError('no')
    expect(error instanceof NoSuchAccount).toBe(false)
  })
})
