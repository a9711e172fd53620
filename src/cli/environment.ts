import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import { CountersignError } from '../errors.js'
import type { Io } from './io.js'

export function addEnvFileOption(command: Command): Command {
  return command.option(
    '--env-file <file>',
    'a file of NAME=value lines; what the environment has already wins',
  )
}

/** Empty counts as absent: compose files and templates pass on variables that nobody has set. */
export function variable({ env }: Io, name: string): string | undefined {
  return env[name] || undefined
}

/**
 * What is in the environment already wins, as with `node --env-file`; Node takes that option for its own, also behind
 * the script's name, and then all is there already, or a missing file has ended it with code 9 (nodejs/node#54232).
 * @throws CountersignError ERR_CONFIG_NOT_FOUND
 */
export async function loadEnvFile(name: string, { env, cwd }: Io, flag = '--env-file'): Promise<void> {
  let text
  try {
    text = await readFile(resolve(cwd(), name), 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CountersignError('ERR_CONFIG_NOT_FOUND', `${flag}: cannot read ${name} (${code}).`)
  }
  for (const [key, value] of Object.entries(parseEnv(text))) env[key] ??= value
}
