import { loggerOption, type LoggerOption } from '../logging/logger-option.js'
import type { HasAll } from '../base/has-all.js'
import {
  checkKnownOptions,
  clockOption,
  durationOption,
  functionOption,
  integerOption,
} from '../base/option-checks.js'
import { baseUrlOption } from './base-url.js'
import { foreignConnections, ownConnections, type Fetch } from './connections.js'
import { checkCredentials } from './credentials.js'

/** Options of `createClient`. */
export interface ClientOptions extends LoggerOption {
  /**
   * The base address of the service: absolute and https, with or without a path. Plain http is accepted only for
   * 127.0.0.0/8, [::1] and localhost. The types of these three options include undefined, so that an environment
   * variable can be passed; `createClient` refuses undefined.
   */
  readonly baseUrl: string | undefined
  /** The client_Id: a UUID. */
  readonly clientId: string | undefined
  /** The client_Secret: 1 to 40 letters, digits, `-`, `_`, `.` and `~`. */
  readonly clientSecret: string | undefined
  /** How long an attempt may take, from connecting to the last byte of the answer, in milliseconds. @default 10_000 */
  readonly timeoutMs?: number | undefined
  /**
   * How often a request is sent if there is no answer, a 5xx or a 429: 1 to 10. Token requests are counted
   * separately, and the one repetition after a 401 is not counted. @default 3
   */
  readonly maxAttempts?: number | undefined
  /**
   * The delay before the second attempt, in milliseconds. It doubles each time, up to 10 seconds. Each delay is
   * random between a half and the whole. @default 250
   */
  readonly retryDelayMs?: number | undefined
  /**
   * Replaces the client's own fetch, for client certificates or special proxies. The proxy variables of the
   * environment are then not read, and the application closes the connections.
   * @default undici's fetch, with persistent connections and the proxies of HTTPS_PROXY, HTTP_PROXY and NO_PROXY
   */
  readonly fetch?: Fetch | undefined
  /** The current time in milliseconds since 1970, for the lifetime of tokens. @default Date.now */
  readonly clock?: (() => number) | undefined
}

const KNOWN = [
  'baseUrl',
  'clientId',
  'clientSecret',
  'timeoutMs',
  'maxAttempts',
  'retryDelayMs',
  'fetch',
  'clock',
  'logger',
] as const satisfies readonly (keyof ClientOptions)[]
void (true satisfies HasAll<keyof ClientOptions, typeof KNOWN>)

const OWNER = 'createClient'
const MAX_RETRY_DELAY_MS = 10_000

/** The checked options, with defaults. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseClientOptions(options: ClientOptions) {
  checkKnownOptions(OWNER, options, KNOWN)
  const baseUrl = baseUrlOption(OWNER, options.baseUrl)
  const credentials = checkCredentials(OWNER, options.clientId, options.clientSecret)
  const timeoutMs = durationOption(OWNER, 'timeoutMs', options.timeoutMs, 10_000)
  const logger = loggerOption(OWNER, options.logger)
  const clock = clockOption(OWNER, options.clock, Date.now)
  const maxAttempts = integerOption(OWNER, 'maxAttempts', options.maxAttempts, {
    fallback: 3,
    min: 1,
    max: 10,
  })
  const retryDelayMs = durationOption(OWNER, 'retryDelayMs', options.retryDelayMs, 250)
  const connections =
    options.fetch === undefined
      ? ownConnections(baseUrl, timeoutMs)
      : foreignConnections(functionOption(OWNER, 'fetch', options.fetch))
  const access = { baseUrl, send: connections.send, timeoutMs, logger }
  const retries = { maxAttempts, retryDelayMs, maxRetryDelayMs: MAX_RETRY_DELAY_MS, clock, logger }
  return { access, connections, credentials, retries }
}
