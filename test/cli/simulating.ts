import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { SECRET, subscription } from '../support/subscription.js'
import { countersign, Sandbox, type RunOptions } from './program.js'

const BIN = join(__dirname, '../../dist/cli/bin.js')
export const CLIENT_SECRET = 'a-client-secret~of.40_characters'
export const CALLBACK_URL = ['--callback-url', subscription.callbackUrl]
export const ENV = { COUNTERSIGN_SECRET: SECRET }

export const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

export const to = (port: number) => ['--deliver-to', `http://127.0.0.1:${port}`]

/** One run with a subscription that is there from the start. */
export const simulateOnce = (port: number, ...args: string[]) =>
  countersign(['simulate', '--once', ...to(port), ...CALLBACK_URL, ...args], { env: ENV })

export const events = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, any>)

/** The program with --json while it runs. */
export class Simulating {
  readonly lines: Record<string, any>[] = []
  output = ''
  readonly exit: Promise<number | null>
  readonly #child: ChildProcess
  #wake: () => void = () => {}

  constructor(args: readonly string[], { env = {}, cwd }: RunOptions = {}) {
    const { PATH } = process.env
    this.#child = spawn(process.execPath, [BIN, 'simulate', '--json', ...args], {
      cwd,
      env: { PATH, ...env },
    })
    this.#child.stderr!.on('data', (bytes: Buffer) => (this.output += bytes.toString()))
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      this.output += `${line}\n`
      this.lines.push(JSON.parse(line))
      this.#wake()
    })
    this.exit = once(this.#child, 'close').then(([code]) => code as number | null)
    sandbox.after(async () => {
      this.#child.kill('SIGKILL')
      await this.exit
    })
  }

  async line(number: number): Promise<Record<string, any>> {
    while (this.lines.length < number) {
      const ended = this.exit.then((code) => {
        throw new Error(`ended with ${code}: ${this.output}`)
      })
      await Promise.race([new Promise<void>((resolve) => (this.#wake = resolve)), ended])
    }
    return this.lines[number - 1]!
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

export async function subscribe(
  baseUrl: string,
  clientId: string,
  callbackUrl = subscription.callbackUrl,
): Promise<void> {
  const response = await fetch(`${baseUrl}/security/v1/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_Id: clientId,
      client_Secret: CLIENT_SECRET,
    }),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  const created = await fetch(`${baseUrl}/webhooks/v1/`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'X-Idempotency-Key': crypto.randomUUID(),
    },
    body: JSON.stringify({
      eventTypeName: subscription.eventTypeName,
      callbackUrl,
      secretText: Buffer.from(SECRET).toString('base64'),
    }),
  })
  expect(created.status).toBe(201)
}
