import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { loggerOption } from '../logging/logger-option.js'
import type { HasAll } from '../base/has-all.js'
import {
  checkKnownOptions,
  clockOption,
  durationOption,
  functionOption,
  integerOption,
  invalidOption,
} from '../base/option-checks.js'
import { isUuid } from '../base/uuid.js'
import { toleranceOptions } from '../callback/tolerance.js'
import type { SimulatedResponse } from './api-types.js'
import type { RetryPolicy } from './delivery.js'
import { deliveryTarget } from './delivery-target.js'
import type { ServiceSimulatorOptions } from './options.js'

const KNOWN = [
  'port',
  'clientId',
  'clientSecret',
  'tokenLifetimeSeconds',
  'deliverTo',
  'seed',
  'clock',
  'toleranceMs',
  'futureToleranceMs',
  'answerTimeoutMs',
  'retry',
  'clientSecretCase',
  'repeatedTokenRequest',
  'repeatedSubscription',
  'missingAccountField',
  'subscriptionResponse',
  'accountResponse',
  'refusalResponse',
  'intercept',
  'logger',
] as const satisfies readonly (keyof ServiceSimulatorOptions)[]
void (true satisfies HasAll<keyof ServiceSimulatorOptions, typeof KNOWN>)

const OWNER = 'startServiceSimulator'

/** The rule of SERVICE 2.2. */
export const CLIENT_SECRET = /^[\w.~-]{1,40}$/

export type SimulatorSettings = ReturnType<typeof parseSimulatorOptions>

/** The checked options, with defaults. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseSimulatorOptions(options: ServiceSimulatorOptions) {
  checkKnownOptions(OWNER, options, KNOWN)
  const { clientId = randomUUID(), clientSecret = randomBytes(30).toString('base64url'), deliverTo } = options
  // Not shown: it may be the secret in the wrong variable.
  if (!isUuid(clientId)) throw invalidOption(OWNER, 'clientId', undefined, 'use a UUID', 'not a UUID')
  if (typeof clientSecret !== 'string' || !CLIENT_SECRET.test(clientSecret)) {
    const cure = 'use 1 to 40 letters, digits, dashes, underlines, dots and tildes'
    throw invalidOption(OWNER, 'clientSecret', undefined, cure, 'not of the form that the service gives out')
  }
  if (deliverTo !== undefined && typeof deliverTo !== 'function') deliveryTarget(OWNER, deliverTo)
  return {
    port: integerOption(OWNER, 'port', options.port, { fallback: 0, min: 0, max: 65_535 }),
    clientId,
    clientSecret,
    tokenLifetimeSeconds: integerOption(OWNER, 'tokenLifetimeSeconds', options.tokenLifetimeSeconds, {
      fallback: 3600,
      min: 1,
    }),
    deliverTo,
    seed: integerOption(OWNER, 'seed', options.seed, { fallback: randomInt(2 ** 32), min: 0 }),
    clock: clockOption(OWNER, options.clock, Date.now),
    ...toleranceOptions(OWNER, options),
    answerTimeoutMs: durationOption(OWNER, 'answerTimeoutMs', options.answerTimeoutMs, 10_000),
    retry: retryOption(OWNER, options.retry),
    clientSecretCase: oneOf('clientSecretCase', options.clientSecretCase, ['counts', 'ignored']),
    repeatedTokenRequest: oneOf('repeatedTokenRequest', options.repeatedTokenRequest, ['fresh', 'same']),
    repeatedSubscription: oneOf('repeatedSubscription', options.repeatedSubscription, ['beside', 'replace']),
    missingAccountField: oneOf('missingAccountField', options.missingAccountField, [
      'kept',
      'cleared',
      'refused',
    ]),
    subscriptionResponse: responseOption('subscriptionResponse', options.subscriptionResponse),
    accountResponse: responseOption('accountResponse', options.accountResponse),
    refusalResponse: optionalFunction('refusalResponse', options.refusalResponse),
    intercept: optionalFunction('intercept', options.intercept),
    logger: loggerOption(OWNER, options.logger),
  }
}

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function retryOption(owner: string, retry: RetryPolicy | null | undefined): RetryPolicy | undefined {
  if (retry === null || retry === undefined) return undefined
  const place = (part: string) => ({ option: 'retry', part })
  checkKnownOptions(owner, retry, ['delaysMs', 'timestamp', 'isDelivered'], place('retry'))
  const { delaysMs, timestamp, isDelivered } = retry
  if (!Array.isArray(delaysMs)) throw invalidOption(owner, place('retry.delaysMs'), delaysMs, 'list delays')
  for (const delay of delaysMs as readonly number[])
    integerOption(owner, place('retry.delaysMs'), delay, { fallback: NaN, min: 0, max: 2 ** 31 - 1 })
  if (timestamp !== 'first' && timestamp !== 'fresh')
    throw invalidOption(owner, place('retry.timestamp'), timestamp, 'use "first" or "fresh"')
  if (isDelivered !== undefined) functionOption(owner, place('retry.isDelivered'), isDelivered)
  return retry
}

/** One of a few words; the first of them if it is undefined. */
function oneOf<const Word extends string>(
  name: string,
  value: Word | undefined,
  words: readonly [Word, ...Word[]],
): Word {
  const word = value ?? words[0]
  if (words.includes(word)) return word
  throw invalidOption(OWNER, name, value, `use one of ${words.join(', ')}`)
}

function optionalFunction<Type>(name: string, value: Type | undefined): Type | undefined {
  return value === undefined ? undefined : functionOption(OWNER, name, value)
}

/** The option as a function. The result of a given function is checked when it returns. */
function responseOption<About>(
  name: string,
  response: SimulatedResponse | ((about: About) => SimulatedResponse) | undefined,
): ((about: About) => SimulatedResponse) | undefined {
  if (response === undefined || typeof response === 'function') return response
  checkResponse(name, response)
  return () => response
}

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function checkResponse(name: string, response: SimulatedResponse): SimulatedResponse {
  const place = (part: string) => ({ option: name, part })
  checkKnownOptions(OWNER, response, ['status', 'headers', 'body'], place(name))
  integerOption(OWNER, place(`${name}.status`), response.status, { fallback: NaN, min: 200, max: 599 })
  return response
}
