import { ApiRefusal, jsonFields, type ApiCall } from './api-call.js'
import type { ServiceAccount } from './api-types.js'
import type { SimulatorSettings } from './options.js'

export const ACCOUNTS = '/accounts/v1/'

const MAX_ACCOUNTS = 10_000

/** Updates accounts (SERVICE 4.3). Every id is that of an account: how one is created is not shown. */
export class AccountEndpoint {
  readonly accounts = new Map<string, ServiceAccount>()
  readonly #missingField: SimulatorSettings['missingAccountField']

  constructor(missingField: SimulatorSettings['missingAccountField']) {
    this.#missingField = missingField
  }

  /** @throws ApiRefusal */
  accept(call: ApiCall): ServiceAccount {
    const accountId = idIn(call.path)
    const fields = jsonFields(call)
    const update = {
      ...this.#field(fields, 'name', 'string'),
      ...this.#field(fields, 'searchable', 'boolean'),
    }
    const known = this.accounts.get(accountId)
    if (!known && this.accounts.size >= MAX_ACCOUNTS)
      throw new ApiRefusal(503, 'too-many', 'the simulator keeps no more accounts')
    const account = { ...(this.#missingField === 'kept' && known), ...update, accountId }
    this.accounts.set(accountId, account)
    return account
  }

  #field(fields: ReadonlyMap<string, unknown>, name: string, type: 'string' | 'boolean'): object {
    const value = fields.get(name)
    if (value === undefined && this.#missingField !== 'refused') return {}
    if (typeof value === type) return { [name]: value }
    throw new ApiRefusal(400, 'field', `${name} must be of type ${type}`)
  }
}

// What may stand in a segment of a path as it is (RFC 3986, section 3.3): all else has to be percent-encoded.
const SEGMENT = /^(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2})+$/i

function idIn(path: string): string {
  const segment = path.slice(ACCOUNTS.length)
  try {
    const accountId = decodeURIComponent(segment)
    // A URL parser takes these for steps in the path, also where they are encoded.
    if (SEGMENT.test(segment) && accountId !== '.' && accountId !== '..') return accountId
  } catch {
    // Told below.
  }
  throw new ApiRefusal(404, 'no-such-path', 'the path must end with an account id, percent-encoded in UTF-8')
}
