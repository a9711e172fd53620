import { checkKnownOptions, invalidOption, wrongOption } from '../base/option-checks.js'
import type { SendAuthorized } from './authorized-request.js'
import { signalOption, type CallOptions } from './call-options.js'
import type { ServiceRequest, ServiceResponse } from './request.js'

/**
 * The fields to change. Fields that are not given are not sent: the service does not document whether it leaves an
 * absent field unchanged.
 */
export interface AccountUpdate {
  readonly name?: string | undefined
  readonly searchable?: boolean | undefined
}

export interface ClientAccounts {
  /**
   * Updates an account. Resolves with any status, because the service documents none. It retries an attempt without
   * an answer, or with 5xx or 429, because PUT is idempotent (RFC 9110, section 9.2.2). A delayed attempt may
   * therefore overwrite an update that another client made in between.
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

/** The request of SERVICE 4.3 without the token. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function accountRequest(accountId: string, update: AccountUpdate): ServiceRequest {
  if (typeof accountId !== 'string' || accountId === '' || !accountId.isWellFormed())
    throw invalidOption(OWNER, 'accountId', accountId, 'use the id of the account, a text')
  // A URL parser resolves these even if they are escaped. The update would go to another resource.
  if (accountId === '.' || accountId === '..')
    throw invalidOption(
      OWNER,
      'accountId',
      accountId,
      'use the id of the account: a URL parser would resolve this one',
    )

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
