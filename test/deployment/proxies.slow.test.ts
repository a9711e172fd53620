import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { SUBSCRIPTION } from '../cli/configured.js'
import { countersignProcess, Sandbox, type Serving } from '../cli/program.js'
import { itWhere } from '../support/it-where.js'
import { freePort } from '../support/server-program.js'
import { until } from '../support/until.js'
import { DOCUMENTED_PROXIES, type DocumentedProxy } from './documented-proxies.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const CONFIG = JSON.stringify({
  subscriptions: [SUBSCRIPTION],
  inbox: { file: 'callbacks.db' },
  logLevel: 'error',
})

interface Answer {
  readonly status: number | undefined
  readonly reusedConnection: boolean
}

/** Two receivers with one inbox behind a proxy, and a client that trusts the certificate of the proxy. */
async function deployed(start: (ports: readonly [number, number]) => Promise<DocumentedProxy>) {
  const cwd = await sandbox.directory({ 'countersign.config.json': CONFIG, 'a.secret': SUBSCRIPTION.secret })
  const ports = [await freePort(), await freePort()] as const
  const serve = (port: number) =>
    sandbox.serve(['--port', String(port), '--no-worker', '--log-level', 'info'], { cwd })
  const receivers = ports.map(serve) as [Serving, Serving]
  for (const receiver of receivers) await receiver.port()
  const proxy = await start(ports)
  const agent = new Agent({ keepAlive: true, maxSockets: 8, ca: readFileSync(proxy.authority) })
  sandbox.after(async () => agent.destroy())

  const send = (path: string, method: string, headers = {}, body?: Uint8Array) =>
    new Promise<Answer>((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port: proxy.port, path, method, headers, agent },
        (answer) => {
          const reusedConnection = sent.reusedSocket
          answer.resume().once('end', () => resolve({ status: answer.statusCode, reusedConnection }))
        },
      )
      sent.once('error', reject).end(body)
    })
  const newCallback = () => {
    const { path, headers, body } = signedCallback({ subscription: SUBSCRIPTION })
    return () => send(path, 'POST', { ...headers, 'Content-Length': body.length }, body)
  }
  const deliver = () => newCallback()()
  return { cwd, ports, serve, receivers, proxy, send, deliver, newCallback }
}

async function storedIn(cwd: string): Promise<number> {
  const inbox = new SqliteInbox({ file: join(cwd, 'callbacks.db') })
  try {
    return (await inbox.stats()).counts.stored
  } finally {
    await inbox.close()
  }
}

/** Of some 250 callbacks. Without the rules of the proxies for repeats there would be more. */
const MAX_REPEATS = 2

describe.each(DOCUMENTED_PROXIES)('docs/deployment, $name', ({ needs, isInstalled, start }) => {
  const itWithProxy = itWhere(isInstalled, needs)

  itWithProxy(
    'forwards callbacks unchanged over TLS, and countersign doctor finds no problem',
    async () => {
      const { cwd, proxy, deliver } = await deployed(start)
      expect(await deliver()).toEqual({ status: 200, reusedConnection: false })
      expect(await deliver()).toEqual({ status: 200, reusedConnection: true })
      expect(await storedIn(cwd)).toBe(2)
      const url = `https://127.0.0.1:${proxy.port}/hooks/transfers`
      const { code, stdout } = await countersignProcess(['doctor', url, '--secret-file', 'a.secret'], {
        cwd,
        env: { NODE_EXTRA_CA_CERTS: proxy.authority },
      })
      expect(stdout).toContain('no problems')
      expect(code).toBe(0)
    },
    60_000,
  )

  itWithProxy(
    'refuses larger bodies than the receiver, and forwards nothing but callbacks',
    async () => {
      const { send } = await deployed(start)
      const large = Buffer.alloc(1_048_577)
      const headers = { 'Content-Length': large.length, Expect: '100-continue' }
      expect((await send('/hooks/transfers', 'POST', headers)).status).toBe(413)
      expect((await send('/readyz', 'GET')).status).toBe(404)
      expect((await send('/metrics', 'GET')).status).toBe(404)
    },
    60_000,
  )

  itWithProxy(
    'loses no callback when one of two receivers is stopped, and when one is killed',
    async () => {
      const { cwd, ports, serve, receivers, newCallback } = await deployed(start)
      const statuses: (number | undefined)[] = []
      let repeats = 0
      const over = new AbortController()
      const sender = async () => {
        while (!over.signal.aborted) {
          const deliver = newCallback()
          let { status } = await deliver()
          // On a busy machine a proxy may give up a try in time for neither receiver.
          for (; status === 502 && repeats < MAX_REPEATS; repeats++) status = (await deliver()).status
          statuses.push(status)
        }
      }
      const senders = Promise.all(Array.from({ length: 8 }, sender))
      const more = (count: number) => {
        const target = statuses.length + count
        return until(() => statuses.length >= target)
      }
      await more(50)
      receivers[0].signal('SIGTERM')
      await Promise.all([receivers[0].exit, more(100)])
      const restarted = serve(ports[0])
      // The proxy has noticed that it is there again.
      await restarted.line(({ outcome }) => outcome === 'stored')
      receivers[1].signal('SIGKILL')
      await Promise.all([receivers[1].exit, more(100)])
      over.abort()
      await senders
      expect(new Set(statuses)).toEqual(new Set([200]))
      expect(await storedIn(cwd)).toBe(statuses.length)
    },
    60_000,
  )
})
