import { checkKnownOptions, invalidOption, wrongOption } from '../base/option-checks.js'
import type { SendAuthorized } from './authorized-request.js'
import { signalOption, type CallOptions } from './call-options.js'
import type { ServiceRequest, ServiceResponse } from './request.js'

/**
 * SERVICE 2.4. What is given is sent, and no more: whether the service takes an absent field for unchanged is not shown.
 */
export interface AccountUpdate {
  readonly name?: string | undefined
  readonly searchable?: boolean | undefined
}

export interface ClientAccounts {
  /**
   * Updates an account (SERVICE 4.3). Resolves with any status, as none is documented. Repeats an attempt without an
   * answer, or with 5xx or 429: PUT is idempotent (RFC 9110, section 9.2.2). So one that was lost on the way may overtake
   * an update that somebody else made in between.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN: nothing was sent
   * @throws ClientError every code
   */
  update(accountId: string, update: AccountUpdate, options?: CallOptions): Promise<ServiceResponse>
}

const OWNER = 'accounts.update'

export function createAccounts(send: SendAuthorized): ClientAccounts {
  return {
    async update(accountId, update, options) {
      const signal = signalOption(OWNER, options, ['signal'])
      return send(accountRequest(accountId, update), signal)
    },
  }
}

/** SERVICE 4.3, but for the token. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function accountRequest(accountId: string, update: AccountUpdate): ServiceRequest {
  if (typeof accountId !== 'string' || accountId === '' || !accountId.isWellFormed())
    throw invalidOption(OWNER, 'accountId', accountId, 'use the id of the account, a text')
  // No escaping keeps a URL parser from taking these for a step, and the update for one of another resource.
  if (accountId === '.' || accountId === '..')
    throw invalidOption(OWNER, 'accountId', accountId, 'use the id of the account: this is a step in a path')

  checkKnownOptions(OWNER, update, ['name', 'searchable'])
  const { name, searchable } = update
  if (name !== undefined && typeof name !== 'string')
    throw invalidOption(OWNER, 'name', name, 'use a text, or leave it out')
  if (searchable !== undefined && typeof searchable !== 'boolean')
    throw invalidOption(OWNER, 'searchable', searchable, 'use true or false, or leave it out')
  if (name === undefined && searchable === undefined)
    throw wrongOption(
      OWNER,
      'update',
      'neither name nor searchable is given, so nothing would change: give one or both.',
    )

  return {
    method: 'PUT',
    path: `/accounts/v1/${encodeURIComponent(accountId)}`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name, searchable }),
    hidden: [],
  }
}
