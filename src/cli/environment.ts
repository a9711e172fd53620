import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import { CountersignError } from '../base/errors.js'
import { UsageError, type Io } from './io.js'
import { readPrivateFile } from './private-file.js'

/**
 * Two spellings, because Node takes --env-file for its own, also behind the name of the program: a missing file ends the
 * process with Node's own message and code 9 before this program begins (nodejs/node#54232).
 */
export function addEnvFileOption(command: Command): Command {
  return command.option(
    '--env, --env-file <file>',
    'a file of NAME=value lines; the environment has precedence',
  )
}

/** Empty counts as absent: compose files and templates pass on variables that are not set. */
export function variable({ env }: Io, name: string): string | undefined {
  return env[name] || undefined
}

/**
 * What is in the environment already wins, as with `node --env-file`.
 * @throws CountersignError ERR_CONFIG_NOT_FOUND, UsageError
 */
export async function loadEnvFile(name: string, { env, cwd }: Io, flag = '--env'): Promise<void> {
  let text
  try {
    text = (await readPrivateFile(resolve(cwd(), name), name)).toString('utf8')
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${flag}: ${error.message}`)
    const { code } = error as NodeJS.ErrnoException
    throw new CountersignError(
      'ERR_CONFIG_NOT_FOUND',
      `${flag}: cannot read ${name} (${code}): name a file that is there.`,
    )
  }
  for (const [key, value] of Object.entries(parseEnv(text))) env[key] ??= value
}
