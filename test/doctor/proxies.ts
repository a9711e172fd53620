import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { findProgram, freePort, ServerProcess, temporaryFolder } from '../support/server-program.js'

export const nginx = findProgram('nginx')
export const haproxy = findProgram('haproxy')
export const openssl = findProgram('openssl')

/** One folder per file of tests: each folder that is removed at exit has a listener of its own. */
const shared = temporaryFolder()
export const newFolder = (): string => mkdtempSync(join(shared, 'server-'))

const running: ServerProcess[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop('SIGKILL')))
})

/** nginx in front of a receiver. `location` and `server` are further lines of its configuration. */
export async function startNginx(
  receiverPort: number,
  { location = '', server = 'client_max_body_size 2m;', listen = '' } = {},
): Promise<number> {
  const folder = newFolder()
  const port = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(' ')
  const configuration = `
daemon off; master_process off; pid ${join(folder, 'pid')}; error_log stderr;
events { worker_connections 64; }
http {
  access_log off; ${temporary}
  server {
    listen 127.0.0.1:${port}${listen};
    ${server}
    location / {
      proxy_pass http://127.0.0.1:${receiverPort};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      ${location}
    }
  }
}`
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configuration)
  mkdirSync(join(folder, 'logs'))
  return startProxy(nginx!, ['-p', folder, '-c', file, '-e', 'stderr'], folder, port)
}

/** HAProxy in front of a receiver. `rules` are further lines of its frontend. */
export async function startHaproxy(receiverPort: number, rules = ''): Promise<number> {
  const folder = newFolder()
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(
    file,
    `defaults
  mode http
  # A connection that is refused is not tried again, which takes a second each.
  retries 0
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend public
  bind 127.0.0.1:${port}
  ${rules}
  default_backend receiver
backend receiver
  server one 127.0.0.1:${receiverPort}
`,
  )
  return startProxy(haproxy!, ['-db', '-f', file], folder, port)
}

interface Certificate {
  readonly certificate: string
  /** The files of the certificate and of its key. */
  readonly files: { readonly certificate: string; readonly key: string }
  readonly listen: string
  readonly server: string
}

/** A certificate for 127.0.0.1, and the lines with which nginx serves it. */
export function certificate(days: number): Certificate {
  const folder = newFolder()
  const [key, file] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', String(days), ...subject]
  execFileSync(openssl!, [...args, '-keyout', key, '-out', file], { stdio: 'ignore' })
  return {
    certificate: readFileSync(file, 'utf8'),
    files: { certificate: file, key },
    listen: ' ssl http2',
    server: `client_max_body_size 2m; ssl_certificate ${file}; ssl_certificate_key ${key};`,
  }
}

/** Starts a proxy that ends after the test, and waits until it accepts connections. */
export async function startProxy(
  program: string,
  args: readonly string[],
  folder: string,
  port: number,
): Promise<number> {
  const server = new ServerProcess(program, args, { cwd: folder })
  running.push(server)
  await server.ready(() => accepts(port))
  return port
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const end = (result: boolean) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
