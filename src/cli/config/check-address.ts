import { createServer } from 'node:net'
import { listenFailure } from '../../base/listen.js'
import type { Logger } from '../../logging/logger.js'

/**
 * Checks whether the address can be listened on, by listening briefly. If a Countersign receiver already listens
 * there, it is only a warning, because it may be the one to be replaced.
 * @throws CountersignError ERR_LISTEN_FAILED
 */
export async function checkAddress(host: string, port: number, log: Logger): Promise<void> {
  const error = await bindingError(host, port)
  if (!error) return
  if (error.code !== 'EADDRINUSE' || !(await isReceiver(host, port)))
    throw listenFailure({ host, port }, 'serve', error)
  const message = `a receiver listens on ${host} port ${port} already: stop it before this one starts`
  log.warn({ code: 'WARN_ADDRESS_IN_USE' }, message)
}

function bindingError(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', resolve)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

async function isReceiver(host: string, port: number): Promise<boolean> {
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const statusOf = async (path: string) => {
    const response = await fetch(origin + path, { signal: AbortSignal.timeout(1_000) })
    return ((await response.json()) as { status?: unknown } | null)?.status
  }
  try {
    return (await statusOf('/healthz')) === 'ok' && /^(not )?ready$/.test(String(await statusOf('/readyz')))
  } catch {
    return false
  }
}
