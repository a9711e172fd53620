import { objectOption } from '../base/option-checks.js'
import { consoleLogger, isConsole } from './console-logger.js'
import { GuardedLogger } from './guarded-logger.js'
import { KnownSecrets } from './known-secrets.js'
import { LOG_METHODS, silentLogger, type Logger } from './logger.js'
import { StderrLogger } from './stderr-logger.js'

export interface LoggerOption {
  /** pino, console, or compatible; `false` for none. @default warnings and errors go to standard error */
  readonly logger?: Logger | false | undefined
}

/**
 * The logger for the value of an option: standard error if it is undefined, none if it is false. The field `err` may be
 * any thrown value. It is written as an Error of limited size, without `secrets`.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function loggerOption(
  owner: string,
  logger: Logger | false | undefined,
  secrets = new KnownSecrets(),
): Logger {
  if (logger === false) return silentLogger
  const given = objectOption<Logger>(owner, 'logger', logger ?? new StderrLogger(), LOG_METHODS)
  // A receiver passes its logger to the store that it creates.
  if (given === silentLogger || given instanceof GuardedLogger) return given
  return new GuardedLogger(isConsole(given) ? consoleLogger(given) : given, secrets)
}
