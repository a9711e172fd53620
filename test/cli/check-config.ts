import { SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox, type Ran } from './program.js'

export const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

export const { secret, ...PUBLIC } = SUBSCRIPTION
export const JSON_FILE = 'countersign.config.json'
export const MJS_FILE = 'countersign.config.mjs'

export interface Checked {
  valid: boolean
  message?: string
  listen: { host: string; port: number }
  limits: Record<string, number>
  subscriptions: { callbackUrl: string; secrets: number; handled: boolean }[]
  handlers: { types: string[]; any: boolean; unhandled: boolean }
  warnings: { code: string }[]
}

export type Env = Record<string, string>

export async function check(
  files: Record<string, string>,
  args: string[] = [],
  env: Env = {},
): Promise<Ran & { cwd: string }> {
  const cwd = await sandbox.directory(files)
  return { ...(await countersign(['serve', '--check', ...args], { cwd, env })), cwd }
}

export async function checked(config: object, args: string[] = [], env: Env = {}): Promise<Checked> {
  const { stdout } = await check({ [JSON_FILE]: JSON.stringify(config) }, ['--json', ...args], env)
  return JSON.parse(stdout) as Checked
}

/** The message of a configuration that has to be refused, after the name of the program. */
export async function refusal(
  files: Record<string, string>,
  args: string[] = [],
  env: Env = {},
): Promise<string> {
  const { code, stdout, stderr } = await check(files, args, env)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^countersign: .*\n$/)
  return stderr.slice('countersign: '.length)
}

export const json = (config: object) => ({
  [JSON_FILE]: JSON.stringify({ subscriptions: [SUBSCRIPTION], ...config }),
})
