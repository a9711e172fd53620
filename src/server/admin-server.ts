import type { IncomingMessage, RequestListener } from 'node:http'
import { hostOption } from '../base/listen.js'
import { hostsOption, isKnownHost } from '../base/known-hosts.js'
import { originForm } from '../base/origin-form.js'
import { checkKnownOptions, integerOption, invalidOption, partOf } from '../base/option-checks.js'
import type { StandaloneConsole } from '../console/sign-in/standalone-console.js'
import {
  parseStandaloneConsole,
  type StandaloneConsoleOptions,
} from '../console/sign-in/standalone-console-options.js'
import { bearerTokenCheck, bearerTokenProblem } from './bearer-token.js'
import { healthChecks, pathOf } from './health-checks.js'
import { startSmallServer, type SmallServer } from './small-server.js'

export interface AdminServerOptions {
  /** The address to listen on. Whoever reaches it can read the metrics, unless there is a token. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** The port to listen on; 0 takes a free one. From 0 to 65,535. */
  readonly port: number
  /** `/metrics` is answered 401 without `Authorization: Bearer` and this token, of 16 to 1,000 characters. @default none */
  readonly metricsToken?: string | undefined
  /**
   * The names by which the monitoring reaches this address, such as `countersign.internal`. Without a token, `/metrics` is answered
   * 421 if the Host header has none of them, no loopback address and not the address of the connection. @default []
   */
  readonly hosts?: readonly string[] | undefined
  /** Serves the web console at `/console/`. @default none */
  readonly console?: StandaloneConsoleOptions | undefined
}

/** `AdminServerOptions`, checked and with defaults. */
export type AdminSettings = Readonly<ReturnType<typeof parseAdminOptions>>

/** What `/metrics` answers. */
interface Exposition {
  readonly contentType: string
  text(): Promise<string>
}

const ADMIN = { option: 'admin', part: 'admin' }
const CONSOLE = { option: 'admin', part: 'admin: console' }

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseAdminOptions(owner: string, options: AdminServerOptions) {
  checkKnownOptions(owner, options, ['host', 'port', 'metricsToken', 'hosts', 'console'], ADMIN)
  const { port, metricsToken, hosts = [], console } = options
  const host = hostOption(owner, partOf(ADMIN, 'host'), options.host)
  const problem = metricsToken === undefined ? undefined : bearerTokenProblem(metricsToken)
  if (problem !== undefined) {
    const cure =
      'use 16 to 1,000 letters, digits and - . _ ~ + /, such as the output of "openssl rand -hex 32"'
    throw invalidOption(owner, partOf(ADMIN, 'metricsToken'), undefined, cure, problem)
  }
  return {
    host,
    port: integerOption(owner, partOf(ADMIN, 'port'), port, { fallback: NaN, min: 0, max: 65_535 }),
    metricsToken,
    hosts: hostsOption(owner, partOf(ADMIN, 'hosts'), hosts),
    console: console === undefined ? undefined : parseStandaloneConsole(owner, CONSOLE, console, host),
  }
}

/** What the admin server answers. */
interface AdminPages {
  readonly isReady: () => boolean
  readonly metrics: Exposition
  readonly console: Pick<StandaloneConsole, 'handle'> | undefined
}

/**
 * `/metrics`, `/healthz`, `/readyz` and, if there is one, the console at `/console/`, on an address that callbacks do not reach. All
 * other requests are answered 404.
 * @throws CountersignError ERR_LISTEN_FAILED
 */
export function startAdminServer(
  { isReady, metrics, console }: AdminPages,
  { host, port, metricsToken, hosts }: Omit<AdminSettings, 'console'>,
  owner: string,
): Promise<SmallServer> {
  const refusal = metricsToken === undefined ? hostRefusal(hosts) : tokenRefusal(metricsToken)
  const others = metricsListener(metrics, refusal)
  const listener = healthChecks(isReady, console ? consoleListener(console, others) : others)
  return startSmallServer(listener, host, port, owner)
}

const CONSOLE_PATH = '/console'

function consoleListener(
  console: Pick<StandaloneConsole, 'handle'>,
  otherwise: RequestListener,
): RequestListener {
  return (request, response) => {
    const url = originForm(request.url ?? '/')
    if (url === '/' && request.method === 'GET') {
      response.writeHead(303, { Location: `${CONSOLE_PATH}/`, 'Content-Length': 0 }).end()
      return
    }
    const end = url.slice(CONSOLE_PATH.length)
    if (!url.startsWith(CONSOLE_PATH) || !/^(?:[/?]|$)/.test(end)) return otherwise(request, response)
    // The console expects `originalUrl` and `url` as Express sets them for a mounted router.
    Object.assign(request, { originalUrl: url, url: end.startsWith('/') ? end : `/${end}` })
    console.handle(request, response)
  }
}

/** Why a request gets no metrics; undefined if it gets them. */
type Refusal = (
  request: IncomingMessage,
) => { readonly status: number; readonly headers: Record<string, string>; readonly text: string } | undefined

function tokenRefusal(token: string): Refusal {
  const isToken = bearerTokenCheck(token)
  const refused = { status: 401, headers: { 'WWW-Authenticate': 'Bearer' }, text: '' }
  return ({ headers }) => (isToken(headers.authorization) ? undefined : refused)
}

function hostRefusal(hosts: readonly string[]): Refusal {
  const text = 'The Host header names no host of this address: see admin.hosts.\n'
  const refused = { status: 421, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, text }
  return (request) => (isKnownHost(request, hosts) ? undefined : refused)
}

function metricsListener(metrics: Exposition, refusal: Refusal): RequestListener {
  return (request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (!isRead || pathOf(request.url) !== '/metrics') {
      response.writeHead(404, { 'Content-Length': 0 }).end()
      return
    }
    // Before the metrics are read, which asks the inbox.
    const refused = refusal(request)
    if (refused) {
      const { status, headers, text } = refused
      response.writeHead(status, { ...headers, 'Content-Length': text.length }).end(text)
      return
    }
    metrics.text().then(
      (text) => {
        const body = Buffer.from(text)
        const headers = { 'Content-Type': metrics.contentType, 'Content-Length': body.length }
        response.writeHead(200, headers).end(body)
      },
      () => response.writeHead(500, { 'Content-Length': 0 }).end(),
    )
  }
}
