import { randomBytes } from 'node:crypto'
import { LatestMap } from '../base/latest-map.js'
import { isUuid } from '../base/uuid.js'
import { headerValues } from '../testing/http-message.js'
import { ApiRefusal, formFields, mediaType, type ApiCall } from './api-call.js'
import type { SimulatedResponse } from './api-types.js'
import { CLIENT_SECRET, type SimulatorSettings } from './settings.js'

type TokenSettings = Pick<
  SimulatorSettings,
  'clientId' | 'clientSecret' | 'clientSecretCase' | 'repeatedTokenRequest' | 'tokenLifetimeSeconds' | 'clock'
>

/** The oldest are removed, so that any number of requests uses bounded memory. */
const MAX_TOKENS = 1_000

/** Issues and checks access tokens (SERVICE 4.1 and 5). */
export class Tokens {
  readonly #settings: TokenSettings
  /** When each expires, in milliseconds since 1970, in the order of their issue. */
  readonly #expiry = new LatestMap<string, number>(MAX_TOKENS)

  constructor(settings: TokenSettings) {
    this.#settings = settings
  }

  /** Answers a token request. @throws ApiRefusal */
  answer(call: ApiCall): SimulatedResponse {
    this.#check(call)
    const { repeatedTokenRequest, tokenLifetimeSeconds, clock } = this.#settings
    const now = clock()
    const last = [...this.#expiry].at(-1)
    const [token, expiry] =
      repeatedTokenRequest === 'same' && last && last[1] - now >= 1_000
        ? last
        : ([randomBytes(24).toString('base64url'), now + tokenLifetimeSeconds * 1_000] as const)
    this.#expiry.set(token, expiry)
    const body = {
      access_token: token,
      token_type: 'Bearer',
      expires_in: Math.floor((expiry - now) / 1_000),
    }
    return { status: 200, body }
  }

  /** Refuses a call without a valid token. @throws ApiRefusal */
  require({ rawHeaders }: ApiCall): void {
    const values = headerValues(rawHeaders, 'authorization')
    // The scheme is case-insensitive (RFC 9110, section 11.1).
    const token = values.length === 1 ? /^bearer +([\w.~+/-]+=*)$/i.exec(values[0]!)?.[1] : undefined
    if (token === undefined) {
      throw new ApiRefusal(
        401,
        'token-missing',
        'one Authorization header must be "Bearer " and an access token',
      )
    }
    const expiry = this.#expiry.get(token)
    if (expiry === undefined)
      throw new ApiRefusal(401, 'token-unknown', 'the access token is not one of ours')
    if (expiry <= this.#settings.clock())
      throw new ApiRefusal(401, 'token-expired', 'the access token is expired')
  }

  revoke(): void {
    this.#expiry.clear()
  }

  /** The checks of SERVICE 5, item 4. */
  #check({ rawHeaders, body }: ApiCall): void {
    if (mediaType(rawHeaders) !== 'application/x-www-form-urlencoded') {
      throw new ApiRefusal(400, 'content-type', 'Content-Type must be application/x-www-form-urlencoded')
    }
    const form = formFields(body!)
    if (parameter(form, 'grant_type') !== 'client_credentials') {
      throw new ApiRefusal(400, 'grant-type', 'grant_type must be client_credentials')
    }
    const id = parameter(form, 'client_Id')
    if (!isUuid(id)) throw new ApiRefusal(400, 'client-id', 'client_Id must be a UUID')
    const secret = parameter(form, 'client_Secret')
    if (!CLIENT_SECRET.test(secret)) {
      const rule = 'client_Secret must be 1 to 40 letters, digits, dashes, underlines, dots and tildes'
      throw new ApiRefusal(400, 'client-secret', rule)
    }
    const { clientId, clientSecret, clientSecretCase } = this.#settings
    const alike = (text: string) => (clientSecretCase === 'ignored' ? text.toLowerCase() : text)
    if (id.toLowerCase() !== clientId.toLowerCase()) {
      throw new ApiRefusal(400, 'client-id', 'client_Id is not that of the simulator')
    }
    if (alike(secret) !== alike(clientSecret)) {
      throw new ApiRefusal(400, 'client-secret', 'client_Secret is not that of the simulator')
    }
  }
}

function parameter(form: URLSearchParams, name: string): string {
  const values = form.getAll(name)
  // RFC 6749, section 3.2: a parameter must not occur more than once.
  if (values.length > 1) throw new ApiRefusal(400, 'field', `${name} is given more than once`)
  const [value] = values
  if (value !== undefined) return value
  const other = [...form.keys()].some((key) => key.toLowerCase() === name.toLowerCase())
  const cure = other ? ': its letters must be exactly these' : ''
  throw new ApiRefusal(400, 'field', `${name} is missing${cure}`)
}
