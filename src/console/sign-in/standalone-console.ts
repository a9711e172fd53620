import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HasAll } from '../../base/has-all.js'
import { hostsOption, isKnownHost } from '../../base/known-hosts.js'
import { isLoopbackAddress } from '../../base/loopback.js'
import { checkKnownOptions, invalidOption, partOf, type OptionPart } from '../../base/option-checks.js'
import type { Logger } from '../../logging/logger.js'
import { ApplicationAccess } from '../access.js'
import { html, send } from '../answer.js'
import { consoleHandler } from '../console-handler.js'
import { monotonic } from '../monotonic.js'
import {
  nobodyNamed,
  parseConsoleViewOptions,
  type ConsoleProcess,
  type ConsoleViewOptions,
  type ConsoleViewSettings,
} from '../console-options.js'
import { ProcessActivity } from '../process-activity.js'
import { InboxReading } from '../inbox-reading.js'
import { securityHeaders } from '../security-headers.js'
import { ConsoleUsers, type ConsoleUserOptions } from './console-users.js'
import { KnownBrowsers } from './known-browsers.js'
import { Sessions } from './sessions.js'
import { SignedInAccess } from './signed-in-access.js'
import { SignInLimit } from './sign-in-limit.js'

/** The options of the console in `serve` and `work`. */
export interface StandaloneConsoleOptions extends ConsoleViewOptions {
  /**
   * Who may sign in, at most 1,000 users. Without users every request has the role `view`. Users are required if the address is
   * not a loopback address.
   * @default []
   */
  readonly users?: readonly ConsoleUserOptions[] | undefined
  /** The names under which browsers reach the console through a proxy, such as `callbacks.internal.example`. @default [] */
  readonly hosts?: readonly string[] | undefined
}

export interface StandaloneConsoleSettings extends ConsoleViewSettings {
  readonly users: ConsoleUsers
  readonly hosts: readonly string[]
  /** Whether a request is refused if its Host header names neither this machine nor one of `hosts`. */
  readonly checksHost: boolean
}

export interface StandaloneConsole {
  handle(request: IncomingMessage, response: ServerResponse): void
  close(): void
}

const KNOWN = [
  'users',
  'hosts',
  'bodies',
  'reasons',
] as const satisfies readonly (keyof StandaloneConsoleOptions)[]

// Fails to compile when an option is missing from the list.
void (true satisfies HasAll<keyof StandaloneConsoleOptions, typeof KNOWN>)

/** `address`: the host name or address that the console listens on. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseStandaloneConsole(
  owner: string,
  place: OptionPart,
  options: StandaloneConsoleOptions,
  address: string,
): StandaloneConsoleSettings {
  checkKnownOptions(owner, options, KNOWN, place)
  const { users = [], hosts = [] } = options
  const view = parseConsoleViewOptions(owner, options, place)
  const parsed = new ConsoleUsers(owner, partOf(place, 'users'), users)
  const isLocal = isLoopbackAddress(address)
  if (!isLocal && parsed.count === 0) {
    const cure = `give at least one user a password, because other machines can reach ${address}; or set admin.host to 127.0.0.1`
    throw invalidOption(owner, partOf(place, 'users'), undefined, cure, 'empty')
  }
  const named = hostsOption(owner, partOf(place, 'hosts'), hosts)
  return { ...view, users: parsed, hosts: named, checksHost: isLocal || named.length > 0 }
}

/** A console for `serve` and `work`. @throws CountersignError ERR_OPTION_INVALID if there is no inbox that it could show */
export function createStandaloneConsole(
  owner: string,
  { events, operations }: ConsoleProcess,
  { users, hosts, checksHost, bodies, reasonRequired }: StandaloneConsoleSettings,
  logger: Logger,
): StandaloneConsole {
  if (!operations) {
    const cure = 'configure an inbox that has the operations, or leave the console out'
    throw invalidOption(
      owner,
      { option: 'admin', part: 'admin: console' },
      undefined,
      cure,
      'set without an inbox that it could show',
    )
  }
  const activity = new ProcessActivity(events, Date.now, monotonic)
  const reading = new InboxReading(operations, monotonic)
  const handle = consoleHandler(
    { operations, reading, activity, bodies, reasonRequired, clock: Date.now, logger },
    (renderer) => {
      if (users.count === 0) return new ApplicationAccess(nobodyNamed)
      return new SignedInAccess({
        users,
        sessions: new Sessions(monotonic),
        limit: new SignInLimit(monotonic),
        browsers: new KnownBrowsers(),
        renderer,
        logger,
      })
    },
  )
  const setSecurityHeaders = securityHeaders()
  return {
    handle(request, response) {
      if (!checksHost || isKnownHost(request, hosts)) return void handle(request, response)
      setSecurityHeaders(request, response)
      send(
        request,
        response,
        html('The Host header names no host of this console: see admin.console.hosts.', 421),
      )
    },
    close: () => activity.close(),
  }
}
