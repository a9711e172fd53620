import { lookup } from 'node:dns/promises'
import { connect, isIP } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { doctorFinding, type DoctorFinding } from './findings.js'

interface NetworkPath {
  /** How far it came. `http`: a connection that HTTP can use. */
  readonly reached: 'nothing' | 'dns' | 'tcp' | 'http'
  readonly steps: readonly Step[]
  readonly findings: readonly DoctorFinding[]
  readonly offersHttp2: boolean
}

/** One row of the table. */
export interface Step {
  readonly name: string
  readonly ok: boolean
  readonly seen: string
}

interface PathOptions {
  readonly timeoutMs: number
  /** Certificates to trust in place of Node's. */
  readonly ca?: string | undefined
}

const MAX_ADDRESSES = 6
const RENEWAL_MS = 14 * 86_400_000

/** Resolves the name, connects to each address, and makes a TLS handshake. Sends no request. Never rejects. */
export async function networkPath(url: URL, options: PathOptions): Promise<NetworkPath> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'https:'
  const port = Number(url.port || (secure ? 443 : 80))
  const seen: Seen = { steps: [], findings: [] }
  const end = (reached: NetworkPath['reached'], offersHttp2 = false) => ({ reached, ...seen, offersHttp2 })

  const addresses = await resolved(host, seen)
  if (!addresses) return end('nothing')
  if (!(await isReachable(addresses, port, options.timeoutMs, seen))) return end('dns')
  if (!secure) {
    seen.findings.push(doctorFinding('not-encrypted'))
    return end('http')
  }
  const session = await tlsSession(host, port, options)
  if (typeof session === 'string') {
    seen.steps.push({ name: 'TLS', ok: false, seen: session })
    seen.findings.push(doctorFinding('tls-failed', session))
    return end('tcp')
  }
  describeSession(session, seen)
  return end('http', session.alpn === 'h2')
}

interface Seen {
  readonly steps: Step[]
  readonly findings: DoctorFinding[]
}

/** The addresses of a name; undefined if it has none. */
async function resolved(host: string, { steps, findings }: Seen): Promise<readonly string[] | undefined> {
  const found = await lookup(host, { all: true }).catch(
    (error: NodeJS.ErrnoException) => error.code ?? error.name,
  )
  if (typeof found === 'string') {
    steps.push({ name: 'DNS', ok: false, seen: found })
    findings.push(doctorFinding('dns-failed', `${host}: ${found}`))
    return undefined
  }
  const addresses = found.slice(0, MAX_ADDRESSES).map(({ address }) => address)
  steps.push({ name: 'DNS', ok: true, seen: addresses.join(', ') })
  return addresses
}

/** Whether one of the addresses accepts a connection. All of them are tried. */
async function isReachable(
  addresses: readonly string[],
  port: number,
  timeoutMs: number,
  { steps, findings }: Seen,
): Promise<boolean> {
  const failures = await Promise.all(
    addresses.map(async (address) => connectionFailure(address, port, timeoutMs)),
  )
  const isReached = failures.includes(undefined)
  for (const [index, address] of addresses.entries()) {
    const failure = failures[index]
    const place = `${address} port ${port}`
    steps.push({ name: 'TCP', ok: failure === undefined, seen: failure ? `${place}: ${failure}` : place })
    if (!failure) continue
    // If no address can be reached, the examination ends here, so it is a problem.
    const isNote = isReached && NO_ROUTE.includes(failure)
    findings.push(doctorFinding(isNote ? 'address-not-tried' : 'connection-failed', `${place}: ${failure}`))
  }
  return isReached
}

/** The codes of the own system, where an address of the other family cannot be reached from this machine. */
const NO_ROUTE = ['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']

function describeSession(session: TlsSession, { steps, findings }: Seen): void {
  const { protocol, untrusted, expiresAt, alpn } = session
  const expiry = new Date(expiresAt)
  const until = Number.isNaN(expiry.getTime()) ? expiresAt : expiry.toISOString().slice(0, 10)
  steps.push({
    name: 'TLS',
    ok: untrusted === undefined,
    seen: `${protocol}, ${alpn ?? 'no ALPN'}, certificate until ${until}`,
  })
  if (untrusted) findings.push(doctorFinding('tls-not-trusted', `${untrusted}, valid until ${until}`))
  else if (expiry.getTime() < Date.now() + RENEWAL_MS) findings.push(doctorFinding('tls-expires-soon', until))
}

function connectionFailure(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs })
    const end = (failure?: string): void => {
      socket.destroy()
      resolve(failure)
    }
    socket
      .once('connect', () => end())
      .once('timeout', () => end('ETIMEDOUT'))
      .once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.name))
  })
}

interface TlsSession {
  readonly protocol: string
  /** Why the certificate is not trusted. */
  readonly untrusted: string | undefined
  readonly expiresAt: string
  readonly alpn: string | undefined
}

/** What was agreed on, or why there is no session. */
function tlsSession(
  host: string,
  port: number,
  { timeoutMs, ca }: PathOptions,
): Promise<TlsSession | string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connectTls({
      host,
      port,
      timeout: timeoutMs,
      ALPNProtocols: ['h2', 'http/1.1'],
      // It is reported, and not a reason to stop.
      rejectUnauthorized: false,
      ...(ca !== undefined && { ca }),
      ...(isIP(host) === 0 && { servername: host }),
    })
    const end = (result: TlsSession | string): void => {
      socket.destroy()
      resolve(result)
    }
    socket
      .once('secureConnect', () => {
        const { authorized, authorizationError, alpnProtocol } = socket
        const cause = authorizationError as unknown
        end({
          protocol: socket.getProtocol() ?? 'TLS',
          untrusted: authorized ? undefined : cause instanceof Error ? cause.message : String(cause),
          expiresAt: socket.getPeerCertificate().valid_to,
          alpn: alpnProtocol || undefined,
        })
      })
      .once('timeout', () => end('ETIMEDOUT'))
      .once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.name))
  })
}
