import type { IncomingMessage, ServerResponse } from 'node:http'
import { INBOX } from '../../inbox/inbox.js'
import { SYSTEM } from '../../base/environment.js'
import { isKnownHost } from '../../base/known-hosts.js'
import { invalidOption } from '../../base/option-checks.js'
import type { Logger } from '../../logging/logger.js'
import { applicationAccess } from '../access.js'
import { html, send } from '../answer.js'
import { consoleHandler } from '../console-handler.js'
import { nobodyNamed, type ConsoleProcess } from '../console-options.js'
import { ProcessActivity } from '../process-activity.js'
import { securityHeaders } from '../security-headers.js'
import { KnownBrowsers } from './known-browsers.js'
import { Sessions } from './sessions.js'
import { signedInAccess } from './signed-in-access.js'
import { SignInLimit } from './sign-in-limit.js'
import type { StandaloneConsoleSettings } from './standalone-console-options.js'

export interface StandaloneConsole {
  handle(request: IncomingMessage, response: ServerResponse): void
  close(): void
}

/** A console for `serve` and `work`. @throws CountersignError ERR_OPTION_INVALID if there is no inbox that it could show */
export function createStandaloneConsole(
  owner: string,
  { events, [INBOX]: inbox }: ConsoleProcess,
  { users, hosts, checksHost, bodies, reasonRequired }: StandaloneConsoleSettings,
  logger: Logger,
): StandaloneConsole {
  if (!inbox) {
    const place = { option: 'admin', part: 'admin: console' }
    const cure = 'configure an inbox, or leave the console out'
    throw invalidOption(owner, place, undefined, cure, 'set without an inbox that it could show')
  }
  const { monotonic } = SYSTEM
  const activity = new ProcessActivity(events, Date.now, monotonic)
  const handle = consoleHandler(
    { inbox, activity, bodies, reasonRequired, clock: Date.now, logger },
    (renderer) => {
      if (users.count === 0) return applicationAccess(nobodyNamed)
      return signedInAccess({
        users,
        sessions: new Sessions(monotonic),
        limit: new SignInLimit(monotonic, (name) => users.has(name)),
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
