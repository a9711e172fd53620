import type { IncomingMessage } from 'node:http'
import { printable } from '../../base/printable.js'
import { LogThrottle } from '../../logging/log-throttle.js'
import type { Logger } from '../../logging/logger.js'
import type { Access } from '../access.js'
import { html, seeOther, type Answer } from '../answer.js'
import type { ConsoleRequest } from '../console-request.js'
import { cookieHeader, secretInCookie } from '../cookies.js'
import { readForm } from '../form.js'
import { formToken, isFormToken, randomSecret, TOKEN_FIELD } from '../form-token.js'
import { messagePage } from '../pages/message.js'
import { PAGES } from '../pages/pages.js'
import type { Renderer } from '../renderer.js'
import { isSameOrigin, OTHER_ORIGIN } from '../same-origin.js'
import { durationText } from '../views/time.js'
import type { ConsoleUsers } from './console-users.js'
import type { KnownBrowsers } from './known-browsers.js'
import { SESSION_MS, type Sessions } from './sessions.js'
import type { SignInAttempt, SignInLimit } from './sign-in-limit.js'

interface SignInParts {
  readonly users: ConsoleUsers
  readonly sessions: Sessions
  readonly limit: SignInLimit
  readonly browsers: KnownBrowsers
  readonly renderer: Renderer
  readonly logger: Logger
}

/**
 * The cookie of the browser, which the sign-in form sets. The token of the form belongs to it. This keeps another site from signing the
 * browser in as a user of that site. It outlives sessions, because a known browser is not delayed by the failures of others.
 */
const BROWSER = 'countersign-sign-in'
const BROWSER_S = 30 * 86_400
const NOBODY = 'nobody has signed in'
/** The lines about failures to sign in per second. Names that nobody has are unlimited in number, and so are attempts. */
const LINES_PER_SECOND = 10

/** The users of the console sign in with a password. */
export function signedInAccess({ users, sessions, limit, browsers, renderer, logger }: SignInParts): Access {
  const throttle = new LogThrottle(LINES_PER_SECOND, (code, suppressed, overMs) => {
    const message = `${suppressed} more failures to sign in to the console in ${overMs} ms: not logged one by one`
    logger.warn({ code, suppressed, overMs }, message)
  })
  return async (request, parsed) => {
    const { path, method } = parsed
    if (path === '/sign-in')
      return { answer: method === 'POST' ? await signIn(request, parsed) : signInPage(request, parsed) }
    const secret = secretInCookie(request, sessionCookie(request))
    const isPolled = path?.startsWith('/live/') === true
    const operator = secret === undefined ? undefined : sessions.find(secret, !isPolled)
    if (secret === undefined || operator === undefined) {
      // The address of the sign-in page is relative. Below another folder it would lead to this answer again.
      const isPage = PAGES.has(path === '' ? '/' : (path ?? ''))
      const canLead = isPage && !isPolled && method !== 'POST'
      return { answer: canLead ? seeOther(signInHref(parsed)) : notSignedIn(parsed) }
    }
    if (path === '/sign-out') return { answer: await signOut(request, method, secret, operator.name) }
    return { operator, browserSecret: secret, canSignOut: true }
  }

  async function signIn(request: IncomingMessage, parsed: ConsoleRequest): Promise<Answer> {
    // Browsers send no cookie with a form of another site. The sign-in page would replace the cookie of the browser.
    if (!isSameOrigin(request)) return message(parsed, 403, 'Not permitted', OTHER_ORIGIN)
    const browserSecret = secretInCookie(request, BROWSER)
    const form = await readForm(request)
    if ('refused' in form)
      return signInPage(request, parsed, { status: form.refused, problem: 'The form cannot be read.' })
    const { fields } = form
    if (!browserSecret || !isFormToken(fields.get(TOKEN_FIELD), browserSecret, NOBODY))
      return signInPage(request, parsed, {
        status: 403,
        problem: 'Please try again. The browser must accept cookies.',
      })
    const address = request.socket.remoteAddress ?? ''
    const name = (fields.get('name') ?? '').slice(0, 100)
    const knownBrowser = browsers.isKnown(browserSecret, name) ? browserSecret : undefined
    const attempt: SignInAttempt = { name, address, knownBrowser }
    const waitMs = limit.waitMs(attempt)
    if (waitMs > 0) {
      const waitS = Math.ceil(waitMs / 1_000)
      const problem = `There were too many wrong passwords. Try again in ${durationText(waitS * 1_000)}.`
      const headers = { 'Retry-After': String(waitS) }
      return signInPage(request, parsed, { status: 429, problem, name, headers })
    }
    const operator = users.find(name, fields.get('password') ?? '')
    if (!operator) {
      limit.failed(attempt)
      // The name is not logged, because users sometimes type their password into this field.
      const code = 'WARN_SIGN_IN_FAILED'
      if (throttle.admits(code)) logger.warn({ code, address }, 'signing in to the console failed')
      return signInPage(request, parsed, { status: 403, problem: 'Name or password is wrong.', name })
    }
    limit.succeeded(attempt)
    browsers.remember(browserSecret, operator.name)
    logger.info({ name: operator.name, role: operator.role, address }, 'signed in to the console')
    const cookie = sessionCookie(request)
    // The browser forgets the secret of its earlier session, which nobody could end any more.
    sessions.end(secretInCookie(request, cookie) ?? '')
    const session = cookieHeader(request, cookie, sessions.begin(operator), SESSION_MS / 1_000)
    return seeOther(targetIn(parsed), { 'Set-Cookie': session })
  }

  async function signOut(
    request: IncomingMessage,
    method: string,
    secret: string,
    name: string,
  ): Promise<Answer> {
    const form = method === 'POST' && isSameOrigin(request) ? await readForm(request) : undefined
    const isMeant = form && 'fields' in form && isFormToken(form.fields.get(TOKEN_FIELD), secret, name)
    if (!isMeant) return seeOther('./')
    sessions.end(secret)
    return seeOther('sign-in', { 'Set-Cookie': cookieHeader(request, sessionCookie(request), '', 0) })
  }

  function signInPage(
    request: IncomingMessage,
    parsed: ConsoleRequest,
    { status = 200, problem, name = '', headers = {} }: Partial<SignInProblem> = {},
  ): Answer {
    const known = secretInCookie(request, BROWSER)
    const browserSecret = known ?? randomSecret()
    const view = {
      problem,
      name: printable(name),
      formToken: formToken(browserSecret, NOBODY),
      href: signInHref(parsed, parsed.query.get('to') ?? ''),
    }
    // Set anew each time, so that it does not end for somebody who signs in each day.
    const cookie = { 'Set-Cookie': cookieHeader(request, BROWSER, browserSecret, BROWSER_S) }
    return html(renderer.page('signIn', { title: 'Sign in' }, view), status, {
      ...headers,
      ...cookie,
    })
  }

  function notSignedIn(parsed: ConsoleRequest): Answer {
    const text = 'You are not signed in, or your session has ended. Nothing was done.'
    return message(parsed, 401, 'Not signed in', text)
  }

  function message(request: ConsoleRequest, status: number, title: string, text: string): Answer {
    return messagePage({ renderer }, { request }, status, title, text)
  }
}

/**
 * A browser sends a cookie to every port of a host (RFC 6265, section 8.5). The name keeps the sessions of two consoles apart: by the
 * port in the address of the browser, which containers and tunnels choose, and by the own port, which a proxy may hide.
 */
function sessionCookie({ headers, socket }: IncomingMessage): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1] ?? ''
  return `countersign-session-${port}-${socket.localPort}`
}

interface SignInProblem {
  readonly status: number
  readonly problem: string
  readonly name: string
  readonly headers: Record<string, string>
}

/** The address of the sign-in page, with the requested page to return to. */
function signInHref({ path = '/', query }: ConsoleRequest, to = addressOf(path, query)): string {
  return to === '' ? 'sign-in' : `sign-in?${new URLSearchParams({ to }).toString()}`
}

function addressOf(path: string, query: URLSearchParams): string {
  const text = query.toString()
  return `${path.slice(1)}${text === '' ? '' : `?${text}`}`
}

/** The page to go to after signing in. Only pages of the console are allowed, because anybody can make a link with `to`. */
function targetIn({ query }: ConsoleRequest): string {
  const [path = '', ...rest] = (query.get('to') ?? '').split('?')
  const isPage = PAGES.has(`/${path}`) && !path.startsWith('live/')
  if (!isPage) return './'
  const parameters = new URLSearchParams(rest.join('?')).toString()
  return `./${path}${parameters === '' ? '' : `?${parameters}`}`
}
