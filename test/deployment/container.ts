import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SUBSCRIPTION } from '../cli/configured.js'
import { newFolder } from '../doctor/proxies.js'

const folder = join(__dirname, '../../docs/deployment/container')
const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8')

/** What an instruction of the last stage says. */
export function instruction(name: string): string {
  const [, text] = new RegExp(`^${name} (.*)$`, 'm').exec(dockerfile.split(/^FROM /m).at(-1)!)!
  return text!
}

/** The arguments of an instruction that has them as a JSON list. */
export function listOf(name: string): string[] {
  return JSON.parse(instruction(name).replace(/^[^[]*/, '')) as string[]
}

export interface Container {
  /** What is `/app` in the image. */
  readonly app: string
  /** What is `/run/secrets`. */
  readonly secrets: string
  readonly PATH: string
}

/** The files of the image in a folder, and its secrets as Kubernetes mounts them: each is a symbolic link. */
export function unpackedImage(port: number, secrets: Readonly<Record<string, string>> = {}): Container {
  const root = newFolder()
  const [app, mounted] = [join(root, 'app'), join(root, 'secrets')]
  const bin = join(app, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  const program = join(__dirname, '../../dist/cli/bin.js')
  writeFileSync(join(bin, 'countersign'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
    mode: 0o755,
  })
  symlinkSync(process.execPath, join(bin, 'node'))
  const config = readFileSync(join(folder, 'countersign.config.mjs'), 'utf8')
    .replaceAll('/run/secrets', mounted)
    .replaceAll('/var/lib/countersign', app)
    .replace('port: 9464', 'port: 0')
    .replace("host: '0.0.0.0',", `host: '0.0.0.0', port: ${port},`)
  writeFileSync(join(app, 'countersign.config.mjs'), config)
  writeFileSync(join(app, 'handlers.mjs'), `export default { '${SUBSCRIPTION.eventTypeName}': () => {} }`)
  const all = {
    'countersign/transfers.secret': SUBSCRIPTION.secret,
    'countersign-metrics/token': 'a'.repeat(32),
    ...secrets,
  }
  for (const [file, text] of Object.entries(all)) mountSecret(join(mounted, file), text)
  return { app, secrets: mounted, PATH: `${bin}:/usr/bin:/bin` }
}

function mountSecret(file: string, text: string): void {
  const data = join(file, '../..data')
  mkdirSync(data, { recursive: true })
  const name = file.split('/').at(-1)!
  writeFileSync(join(data, name), text, { mode: 0o440 })
  symlinkSync(join('..data', name), file)
}

const AS_PID_1 = ['--pid', '--fork', '--kill-child', '--mount-proc']
const USER_NAMESPACE = ['--user', '--map-root-user']

/** The options of `unshare` with which a program is the first process of a PID namespace; undefined where this is not allowed. */
export function pidNamespace(): string[] | undefined {
  return [AS_PID_1, [...USER_NAMESPACE, ...AS_PID_1]].find((options) => {
    try {
      execFileSync('unshare', [...options, 'true'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}
