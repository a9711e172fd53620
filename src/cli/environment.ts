import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import { CountersignError } from '../base/errors.js'
import { UsageError, type Io } from './io.js'
import { someText } from './option-values.js'
import { readPrivateFile } from './private-file.js'

export const CONFIG_OPTION = [
  '-c, --config <file>',
  'the configuration (default: countersign.config.mjs, .ts or .json)',
  someText,
] as const

/**
 * Not --env-file, which Node itself reads, also after the name of the program: if the file is missing, Node ends the
 * process with its own message and code 9 before this program starts (nodejs/node#54232).
 */
export function addEnvFileOption(command: Command): Command {
  return command.option(
    '--env <file>',
    'a file of NAME=value lines; the environment has precedence',
    someText,
  )
}

/** An empty variable counts as absent: compose files and templates pass on variables that are not set. */
export function variable({ env }: Io, name: string): string | undefined {
  return env[name] || undefined
}

/**
 * To be called before a configuration is loaded, which may use process.env. Variables that are already set have precedence, as
 * with `node --env-file`.
 * @throws CountersignError ERR_CONFIG_NOT_FOUND; UsageError
 */
export async function loadEnvFile(name: string | undefined, { env, cwd }: Io, flag = '--env'): Promise<void> {
  if (name === undefined) return
  let bytes
  try {
    bytes = await readPrivateFile(resolve(cwd(), name), name)
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${flag}: ${error.message}`)
    const { code } = error as NodeJS.ErrnoException
    throw new CountersignError(
      'ERR_CONFIG_NOT_FOUND',
      `${flag}: cannot read ${name} (${code}): name a file that is there.`,
    )
  }
  for (const [key, value] of Object.entries(parseEnv(envText(bytes, `${flag}: ${name}`)))) env[key] ??= value
}

/** The text of an env file. @throws UsageError */
export function envText(bytes: Buffer, name: string): string {
  // PowerShell writes UTF-16, of which no variable would be found.
  if (!isUtf8(bytes)) throw new UsageError(`${name} is not UTF-8: save it as UTF-8`)
  // With a byte order mark, the first line would set a variable of another name.
  return bytes.toString('utf8').replace(/^\uFEFF/, '')
}
