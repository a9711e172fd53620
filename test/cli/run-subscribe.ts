import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FakeService } from './fake-service.js'
import { countersign, Sandbox, type Ran } from './program.js'

export const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

export const URL = 'https://partner.example.com/hooks/transfers'
export const KEY = '0b5bcbd6-4a39-4bd7-8b5a-1d4a4a3f3b10'
export const TO = ['--event-type', 'transfers.book-completed', '--callback-url', URL]
export const FILE = ['--secret-file', 'a.secret']

/** Runs it in a folder of its own, where nothing is but these files. */
export async function subscribe(
  { env }: Pick<FakeService, 'env'>,
  args: string[],
  files: Record<string, string> = {},
): Promise<Ran & { cwd: string; read: (name: string) => Promise<string> }> {
  const cwd = await sandbox.directory(files)
  for (const name of Object.keys(files)) await chmod(join(cwd, name), 0o600)
  const ran = await countersign(['subscribe', ...TO, ...args], { cwd, env })
  return { ...ran, cwd, read: async (name) => readFile(join(cwd, name), 'utf8') }
}

export function sentSecret({ calls }: FakeService): string {
  const { secretText } = JSON.parse(calls()[0]!.body) as { secretText: string }
  return Buffer.from(secretText, 'base64').toString()
}
