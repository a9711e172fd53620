import type { IncomingMessage } from 'node:http'
import type { HasAll } from '../base/has-all.js'
import {
  checkKnownOptions,
  clockOption,
  functionOption,
  invalidOption,
  type OptionPart,
  partOf,
} from '../base/option-checks.js'
import type { ReceiverEvents } from '../events/event-channel.js'
import type { InboxOperations } from '../inbox/operations.js'
import { INBOX, isInbox } from '../inbox/inbox.js'
import { loggerOption, type LoggerOption } from '../logging/logger-option.js'
import type { Operator } from './operator.js'
import type { BodyAccess } from './page.js'

/** A receiver or a worker with an inbox. */
export interface ConsoleProcess {
  readonly events: ReceiverEvents
  readonly [INBOX]?: InboxOperations | undefined
}

export interface ConsoleViewOptions {
  /**
   * The least role that may see the bodies of callbacks. `view`: both roles. `decide`: only `decide`. `never`: no role.
   * @default 'decide'
   */
  readonly bodies?: BodyAccess | undefined
  /** Whether an operator must give a reason for each decision. @default 'optional' */
  readonly reasons?: 'required' | 'optional' | undefined
}

/** `Request` is what your framework passes, such as the `Request` of Express with the user that your login has set. */
export interface ConsoleOptions<Request extends IncomingMessage = IncomingMessage>
  extends ConsoleViewOptions, LoggerOption {
  /**
   * The receiver or worker of this process, whose inbox the console shows. It also shows which requests were refused, the
   * difference of the clocks, and the secrets in use. Give this or `inbox`.
   */
  readonly receiver?: ConsoleProcess | undefined
  /** An inbox, for a process that has neither a receiver nor a worker. Give either `receiver` or `inbox`. */
  readonly inbox?: InboxOperations | undefined
  /**
   * Returns who sends a request, by the session of your application. The name is written into the history of each decision.
   * If it returns undefined, the request is answered 403.
   * @default every request has the role `view`
   */
  readonly operator?: ((request: Request) => Operator | undefined | Promise<Operator | undefined>) | undefined
  /** The current time, in milliseconds since 1970. @default Date.now */
  readonly clock?: (() => number) | undefined
}

const CONSOLE_OPTIONS = [
  'receiver',
  'inbox',
  'operator',
  'bodies',
  'reasons',
  'clock',
  'logger',
] as const satisfies readonly (keyof ConsoleOptions)[]
void (true satisfies HasAll<keyof ConsoleOptions, typeof CONSOLE_OPTIONS>)

export interface ConsoleViewSettings {
  readonly bodies: BodyAccess
  readonly reasonRequired: boolean
}

const OWNER = 'createConsole'

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseConsoleOptions<Request extends IncomingMessage>(options: ConsoleOptions<Request>) {
  checkKnownOptions(OWNER, options, CONSOLE_OPTIONS)
  return {
    ...inspected(options),
    ...parseConsoleViewOptions(OWNER, options),
    operator: functionOption(OWNER, 'operator', options.operator ?? nobodyNamed) as (
      request: IncomingMessage,
    ) => unknown,
    clock: clockOption(OWNER, options.clock, Date.now),
    logger: loggerOption(OWNER, options.logger),
  }
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function parseConsoleViewOptions(
  owner: string,
  options: ConsoleViewOptions,
  place?: OptionPart,
): ConsoleViewSettings {
  const named = (name: string): string | OptionPart => (place ? partOf(place, name) : name)
  const { bodies = 'decide', reasons = 'optional' } = options
  if (!['decide', 'view', 'never'].includes(bodies))
    throw invalidOption(owner, named('bodies'), bodies, 'use "decide", "view" or "never"')
  if (!['required', 'optional'].includes(reasons))
    throw invalidOption(owner, named('reasons'), reasons, 'use "required" or "optional"')
  return { bodies, reasonRequired: reasons === 'required' }
}

/** The operator of every request if the application names none: only the role `view`. */
export function nobodyNamed(): Operator {
  return { name: 'not named', role: 'view' }
}

function inspected({ receiver, inbox }: Pick<ConsoleOptions, 'receiver' | 'inbox'>) {
  if (receiver !== undefined && inbox !== undefined)
    throw invalidOption(OWNER, 'inbox', inbox, 'the receiver has an inbox: give one of both')
  if (receiver !== undefined) {
    const { events, [INBOX]: itsInbox } = (receiver ?? {}) as Partial<ConsoleProcess>
    if (typeof events?.on !== 'function')
      throw invalidOption(OWNER, 'receiver', receiver, 'pass a receiver or a worker')
    if (itsInbox) return { inbox: itsInbox, events }
    throw invalidOption(OWNER, 'receiver', receiver, 'the console shows an inbox: give the receiver one')
  }
  if (isInbox(inbox)) return { inbox, events: undefined }
  const cure = 'pass a receiver or a worker as receiver, or a SqliteInbox or PostgresInbox as inbox'
  throw invalidOption(OWNER, 'inbox', inbox, cure)
}
