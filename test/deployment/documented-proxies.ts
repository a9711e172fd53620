import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/server-program.js'
import { certificate, haproxy, newFolder, nginx, openssl, startProxy } from '../doctor/proxies.js'

export interface DocumentedProxy {
  readonly port: number
  /** The file of the certificate that a client has to trust. */
  readonly authority: string
}

/** The proxies of docs/deployment, for two receivers on these ports. */
export const DOCUMENTED_PROXIES = [
  {
    name: 'nginx',
    needs: 'nginx and openssl',
    isInstalled: Boolean(nginx && openssl),
    start: startDocumentedNginx,
  },
  {
    name: 'HAProxy',
    needs: 'haproxy and openssl',
    isInstalled: Boolean(haproxy && openssl),
    start: startDocumentedHaproxy,
  },
] as const

type Ports = readonly [number, number]

async function startDocumentedNginx(receivers: Ports): Promise<DocumentedProxy> {
  const folder = newFolder()
  const port = await freePort()
  const { files } = certificate(90)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(' ')
  mkdirSync(join(folder, 'logs'))
  write(folder, 'countersign.conf', 'nginx.conf', receivers, [
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/ssl/countersign/certificate.pem', files.certificate],
    ['/etc/ssl/countersign/key.pem', files.key],
    ['/var/log/nginx/countersign.log', join(folder, 'access.log')],
  ])
  const main = `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log stderr;
events { worker_connections 256; }
http { ${temporary} include countersign.conf; }`
  writeFileSync(join(folder, 'nginx.conf'), main)
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
  return { port: await startProxy(nginx!, args, folder, port), authority: files.certificate }
}

async function startDocumentedHaproxy(receivers: Ports): Promise<DocumentedProxy> {
  const folder = newFolder()
  const port = await freePort()
  const { files } = certificate(90)
  const both = join(folder, 'certificate-and-key.pem')
  writeFileSync(both, readFileSync(files.certificate, 'utf8') + readFileSync(files.key, 'utf8'))
  const file = write(folder, 'haproxy.cfg', 'haproxy.cfg', receivers, [
    ['bind :443', `bind 127.0.0.1:${port}`],
    ['/etc/haproxy/certificates/partner.example.com.pem', both],
  ])
  return { port: await startProxy(haproxy!, ['-db', '-f', file], folder, port), authority: files.certificate }
}

/** Writes a file of docs/deployment with the addresses and paths of this test, and nothing else changed. */
function write(
  folder: string,
  name: string,
  documented: string,
  [one, other]: Ports,
  changes: readonly [string, string][],
): string {
  const ports = [
    ['server 127.0.0.1:3001', `server 127.0.0.1:${one}`],
    ['server 127.0.0.1:3002', `server 127.0.0.1:${other}`],
    ['server one 127.0.0.1:3001', `server one 127.0.0.1:${one}`],
    ['server two 127.0.0.1:3002', `server two 127.0.0.1:${other}`],
  ] as const
  const original = readFileSync(join(__dirname, '../../docs/deployment', documented), 'utf8')
  const present = ports.filter(([from]) => original.includes(from))
  const text = [...present, ...changes].reduce((changed, [from, to]) => {
    if (changed.split(from).length !== 2) throw new Error(`${documented} does not have ${from} exactly once`)
    return changed.replace(from, () => to)
  }, original)
  if (/:300[12]\b/.test(text)) throw new Error(`${documented} has a port that was not replaced`)
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
