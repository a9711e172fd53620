import {
  createAuthenticator,
  parseAuthenticatorOptions,
  type Authenticator,
} from '../../src/callback/authenticator.js'
import type { ReadRequest, Subscription } from '../../src/callback/callback.js'
import type { Subscriptions } from '../../src/callback/subscriptions.js'
import { ArrivedRequest } from '../../src/http/arrived-request.js'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { silentLogger } from '../../src/logging/logger.js'
import { readCredentials, type Credentials } from '../../src/signature/credentials.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { FORGED, subscription } from '../support/running-receiver.js'

/** Plain numbers: mocks would keep each of tens of thousands of calls. */
const mockCalls = { hmacs: 0, keys: 0, urls: 0 }

jest.mock('node:crypto', () => {
  const crypto = jest.requireActual<typeof import('node:crypto')>('node:crypto')
  return {
    ...crypto,
    createHmac: (...given: Parameters<typeof crypto.createHmac>) => {
      mockCalls.hmacs++
      return crypto.createHmac(...given)
    },
    createSecretKey: (given: Buffer) => {
      mockCalls.keys++
      return crypto.createSecretKey(given)
    },
  }
})

const RealUrl = globalThis.URL
beforeAll(() => {
  globalThis.URL = class extends RealUrl {
    constructor(url: string, base?: string) {
      super(url, base)
      mockCalls.urls++
    }
  }
})
afterAll(() => {
  globalThis.URL = RealUrl
})

/** What one call costs that is not of a constant size. */
async function workOf(ask: () => Promise<unknown>) {
  Object.assign(mockCalls, { hmacs: 0, keys: 0, urls: 0 })
  await ask()
  return { ...mockCalls }
}

function tenants(
  count: number,
  urlOf = (_index: number) => subscription.callbackUrl,
  first = 0,
): Subscription[] {
  return Array.from({ length: count }, (_, index) => ({
    ...subscription,
    id: `tenant-${first + index}`,
    callbackUrl: urlOf(first + index),
    secret: `the secret of tenant ${first + index}`,
  }))
}

const NOW = Date.UTC(2026, 10, 3, 9, 14, 27)

function authenticatorOf(subscriptions: Subscriptions) {
  const options = { subscriptions, clock: () => NOW }
  const settings = parseAuthenticatorOptions('createReceiver', options, silentLogger, new KnownSecrets())
  return createAuthenticator(settings)
}

function callbackOf(authentic: Subscription, authorization?: string): ReadRequest {
  const { headers, body, path } = signedCallback({
    subscription: { ...authentic, secret: [authentic.secret ?? ''].flat() },
    timestamp: new Date(NOW),
  })
  const source = { headers: { ...headers, ...(authorization && { Authorization: authorization }) } }
  const request = new ArrivedRequest('POST', path, source)
  const credentials = readCredentials(request.headers.authorization, request.headers.timestamp)
  return Object.assign(request, { credentials: credentials as Credentials, body })
}

const forge = async (authenticate: Authenticator) =>
  expect(await authenticate(callbackOf(subscription, FORGED))).toMatchObject({
    code: 'ERR_SIGNATURE_MISMATCH',
  })

/** The same, made before the work is counted. */
function prepareForgery(authenticate: Authenticator): () => Promise<unknown> {
  const forged = callbackOf(subscription, FORGED)
  return async () => authenticate(forged)
}

describe('a forged callback costs one HMAC for each subscription, and nothing else', () => {
  test.each([
    ['that share a URL', undefined],
    ['with URLs of their own', (index: number) => `https://partner.example.com/hooks/${index}`],
  ])('of a list of 3 000 %s', async (_which, urlOf) => {
    const authenticate = authenticatorOf(tenants(3_000, urlOf))
    expect(await workOf(prepareForgery(authenticate))).toEqual({ hmacs: 3_000, keys: 0, urls: 0 })
  })

  test.each([
    [
      'returns the same objects',
      () => {
        const list = tenants(3_000, (index) => `https://partner.example.com/hooks/${index}`)
        return () => list
      },
    ],
    [
      'makes its objects anew, as one that reads a database does',
      () => () => tenants(3_000, (index) => `https://partner.example.com/hooks/${index}`),
    ],
  ])('of a function that %s', async (_which, make) => {
    const find = make()
    const authenticate = authenticatorOf(find)
    await forge(authenticate)
    const { length } = find()
    const remember = jest.spyOn(KnownSecrets.prototype, 'addReturned')
    expect(await workOf(prepareForgery(authenticate))).toEqual({ hmacs: length, keys: 0, urls: 0 })
    expect(remember).not.toHaveBeenCalled()
    remember.mockRestore()
  })
})

it('prepares nothing again of a list that is longer than what is remembered otherwise', async () => {
  const list = tenants(10_500, (index) => `https://partner.example.com/hooks/${index}`)
  let calls = 0
  // Another list each time, as the last one would be recognised.
  const authenticate = authenticatorOf(() => (calls++ % 2 === 0 ? list : list.toReversed()))
  await forge(authenticate)
  expect(await workOf(prepareForgery(authenticate))).toEqual({ hmacs: 10_500, keys: 0, urls: 0 })
})

it('remembers a bounded number of the texts that a function returned', async () => {
  let page = 0
  const authenticate = authenticatorOf(() => tenants(500, undefined, page * 500))
  for (page = 0; page < 24; page++) await forge(authenticate)
  page = 0
  expect(await workOf(prepareForgery(authenticate))).toMatchObject({ keys: 500 })
})

describe('a function that returns an object again', () => {
  let mutable: { callbackUrl: string; eventTypeName: string; secret: string[] }
  let authenticate: Authenticator
  beforeEach(() => {
    mutable = { ...subscription, secret: ['the first secret'] }
    authenticate = authenticatorOf(() => [mutable])
  })
  const verdictFor = async (authentic: Subscription) => (await authenticate(callbackOf(authentic))).verdict

  it.each([
    ['secret', () => (mutable.secret = ['another secret'])],
    ['list of secrets', () => (mutable.secret[0] = 'a third secret')],
    ['callbackUrl', () => (mutable.callbackUrl = 'https://partner.example.com/hooks/other')],
  ])('is taken at its word once its %s was changed', async (_what, change) => {
    const before = structuredClone(mutable)
    expect(await verdictFor(before)).toBe('genuine')
    change()
    expect(await verdictFor(before)).toBe('refused')
    expect(await verdictFor(mutable)).toBe('genuine')
  })

  it('is refused once a secret was taken out of it', async () => {
    const before = structuredClone(mutable)
    expect(await verdictFor(before)).toBe('genuine')
    mutable.secret = ['']
    expect(await verdictFor(before)).toBe('refused')
  })
})
