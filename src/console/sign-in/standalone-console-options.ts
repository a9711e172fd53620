import type { HasAll } from '../../base/has-all.js'
import { hostsOption } from '../../base/known-hosts.js'
import { isLoopbackAddress } from '../../base/loopback.js'
import { checkKnownOptions, invalidOption, partOf, type OptionPart } from '../../base/option-checks.js'
import {
  parseConsoleViewOptions,
  type ConsoleViewOptions,
  type ConsoleViewSettings,
} from '../console-options.js'
import { ConsoleUsers, type ConsoleUserOptions } from './console-users.js'

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

const KNOWN = [
  'users',
  'hosts',
  'bodies',
  'reasons',
] as const satisfies readonly (keyof StandaloneConsoleOptions)[]
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
