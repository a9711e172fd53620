import { hostOption } from '../base/listen.js'
import { checkKnownOptions, integerOption } from '../base/option-checks.js'
import { healthChecks } from './health-checks.js'
import { startSmallServer, type SmallServer } from './small-server.js'

export interface HealthServerOptions {
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0 takes any free one. @default none: health checks are not served */
  readonly healthPort?: number | undefined
}

const OWNER = 'work'

export function parseHealthServerOptions(options: HealthServerOptions) {
  checkKnownOptions(OWNER, options, ['host', 'healthPort'])
  const { healthPort } = options
  const host = hostOption(OWNER, 'host', options.host)
  const port =
    healthPort === undefined
      ? undefined
      : integerOption(OWNER, 'healthPort', healthPort, { fallback: 0, min: 0, max: 65_535 })
  return { host, port }
}

/**
 * `/healthz` and `/readyz` of a process that accepts no callbacks. All other requests are answered 404.
 * @throws CountersignError ERR_LISTEN_FAILED
 */
export function startHealthServer(isReady: () => boolean, host: string, port: number): Promise<SmallServer> {
  const listener = healthChecks(isReady, (_request, response) => {
    response.writeHead(404, { 'Content-Length': 0 }).end()
  })
  return startSmallServer(listener, host, port, OWNER)
}
