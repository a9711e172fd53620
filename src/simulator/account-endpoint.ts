import { ApiRefusal, jsonFields, type ApiCall } from './api-call.js'
import type { ServiceAccount } from './api-types.js'
import type { SimulatorSettings } from './settings.js'

export const ACCOUNTS = '/accounts/v1/'

const MAX_ACCOUNTS = 10_000

type MissingField = SimulatorSettings['missingAccountField']

/**
 * Updates accounts (SERVICE 4.3). Every id is a valid account, because the service does not document how one is
 * created.
 */
export function accountEndpoint(
  accounts: Map<string, ServiceAccount>,
  missingField: MissingField,
): (call: ApiCall) => ServiceAccount {
  return (call) => {
    const accountId = idIn(call.path)
    const fields = jsonFields(call)
    const update = {
      ...field(fields, 'name', 'string', missingField),
      ...field(fields, 'searchable', 'boolean', missingField),
    }
    const known = accounts.get(accountId)
    if (!known && accounts.size >= MAX_ACCOUNTS)
      throw new ApiRefusal(503, 'too-many', 'the simulator keeps no more accounts')
    const account = { ...(missingField === 'kept' && known), ...update, accountId }
    accounts.set(accountId, account)
    return account
  }
}

function field(
  fields: ReadonlyMap<string, unknown>,
  name: string,
  type: 'string' | 'boolean',
  missingField: MissingField,
): object {
  const value = fields.get(name)
  if (value === undefined && missingField !== 'refused') return {}
  if (typeof value === type) return { [name]: value }
  throw new ApiRefusal(400, 'field', `${name} must be of type ${type}`)
}

// The characters that a path segment may contain (RFC 3986, section 3.3). Any other must be percent-encoded.
const SEGMENT = /^(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2})+$/i

function idIn(path: string): string {
  const segment = path.slice(ACCOUNTS.length)
  try {
    const accountId = decodeURIComponent(segment)
    // A URL parser resolves . and .. even if they are percent-encoded.
    if (SEGMENT.test(segment) && accountId !== '.' && accountId !== '..') return accountId
  } catch {
    // The refusal below covers this case as well.
  }
  throw new ApiRefusal(404, 'no-such-path', 'the path must end with an account id, percent-encoded in UTF-8')
}
