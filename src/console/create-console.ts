import type { IncomingMessage } from 'node:http'
import { SYSTEM } from '../base/environment.js'
import type { Middleware } from '../http/middleware.js'
import { applicationAccess } from './access.js'
import { consoleHandler } from './console-handler.js'
import { parseConsoleOptions, type ConsoleOptions } from './console-options.js'
import { ProcessActivity } from './process-activity.js'

/** Middleware that answers every request that reaches it. */
export interface WebConsole extends Middleware {
  /** Ends the subscriptions to the events of the receiver. The inbox stays open. */
  close(): void
}

/**
 * A web console for an inbox, to be mounted behind the login of an application.
 *
 * @example
 *   app.use('/admin/callbacks', requireLogin, createConsole({
 *     receiver,
 *     operator: (req: SignedInRequest) => ({ name: req.user.email, role: req.user.isOperator ? 'decide' : 'view' }),
 *   }))
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function createConsole<Request extends IncomingMessage = IncomingMessage>(
  options: ConsoleOptions<Request>,
): WebConsole {
  const { inbox, events, operator, clock, logger, ...view } = parseConsoleOptions(options)
  const activity = events && new ProcessActivity(events, clock, SYSTEM.monotonic)
  const handle = consoleHandler({ inbox, activity, clock, logger, ...view }, () =>
    applicationAccess(operator),
  )
  const middleware: Middleware = function countersignConsole(request, response) {
    void handle(request, response)
  }
  return Object.assign(middleware, { close: () => activity?.close() })
}
