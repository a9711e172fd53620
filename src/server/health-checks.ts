import type { RequestListener } from 'node:http'
import { originForm } from '../base/origin-form.js'

/**
 * Serves the health checks of a standalone receiver: `/healthz` says whether the process is alive, `/readyz`
 * whether it accepts callbacks. All other requests go to `otherwise`.
 */
export function healthChecks(isReady: () => boolean, otherwise: RequestListener): RequestListener {
  return (request, response) => {
    const check = request.method === 'GET' || request.method === 'HEAD' ? pathOf(request.url) : undefined
    if (check !== '/healthz' && check !== '/readyz') return otherwise(request, response)
    const isHealthy = check === '/healthz' || isReady()
    const status = check === '/healthz' ? 'ok' : isHealthy ? 'ready' : 'not ready'
    const body = JSON.stringify({ status })
    response.writeHead(isHealthy ? 200 : 503, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': body.length,
    })
    // Node omits the body of the answer to a HEAD.
    response.end(body)
  }
}

/** Probes are configured by hand: letter case and a trailing slash make no difference. */
export function pathOf(url = ''): string {
  return originForm(url).split('?', 1)[0]!.toLowerCase().replace(/\/$/, '')
}
