import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { looksLikeSecretText, secretProblem } from '../signature/secret.js'
import { UsageError, type Io } from './io.js'
import { someText } from './option-values.js'
import { readPrivateFile, type FollowsLinks } from './private-file.js'

export interface SecretFlags {
  readonly secretEnv?: string
  readonly secretFile?: string
}

export const NO_SECRET_OPTION = `No option takes a secret itself, because every user of the machine can see the
command line, and the shell keeps it.`

export const SECRET_HELP = `
The secret is the text itself, not the Base64 that was sent as secretText. It is
read from the environment (--secret-env NAME, by default COUNTERSIGN_SECRET) or
from a file (--secret-file).
${NO_SECRET_OPTION}`

export function addSecretOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--secret-env <name>', 'the environment variable that holds the secret').conflicts(
        'secretFile',
      ),
    )
    .option(
      '--secret-file <file>',
      'the file that holds the secret; one line end at its end is ignored',
      someText,
    )
}

/** The secret from the options, or from COUNTERSIGN_SECRET. @throws UsageError */
export async function readSecret(
  { secretEnv: name, secretFile: file }: SecretFlags,
  io: Io,
): Promise<string> {
  const missing = 'no secret: use --secret-env or --secret-file, or set COUNTERSIGN_SECRET'
  return warnOfSecretText(await secretFrom({ name, file }, 'COUNTERSIGN_SECRET', missing, io), io)
}

/** The secret from the file or the variable of an option, or else from the default variable. @throws UsageError */
export async function secretFrom(
  { name, file }: { readonly name?: string | undefined; readonly file?: string | undefined },
  defaultName: string,
  missing: string,
  io: Io,
): Promise<string> {
  if (file !== undefined) return readSecretFile(file, io.cwd())
  if (name === undefined && !io.env[defaultName]) throw new UsageError(missing)
  return readSecretVariable(name ?? defaultName, io.env)
}

/** Returns the secret, and prints a warning if it looks like its Base64. */
export function warnOfSecretText(secret: string, io: Io): string {
  if (looksLikeSecretText(secret)) {
    io.stderr.write(
      'countersign: the secret looks like the Base64 that is sent as secretText. Pass the decoded text instead.\n',
    )
  }
  return secret
}

/** The text of a file, without a line end at its end, which editors add. A relative name starts from `folder`. @throws UsageError */
export async function readSecretFile(
  written: string,
  folder: string,
  links: FollowsLinks = {},
): Promise<string> {
  const file = resolve(folder, written)
  let bytes
  try {
    bytes = await readPrivateFile(file, file, links)
  } catch (error) {
    if (error instanceof UsageError) throw error
    const { code } = error as NodeJS.ErrnoException
    const shown = existsSync(file) || isPlainFileName(written) ? file : ofLength(written)
    const cure = shown === file ? accessCure(code) : ': name the file, and not the secret itself'
    throw new UsageError(`cannot read the secret file ${shown} (${code})${cure}`)
  }
  let secret
  try {
    secret = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '')
  } catch {
    throw new UsageError(`the secret file ${file} is not UTF-8: it must hold the secret text`)
  }
  if (secret === '') throw new UsageError(`the secret file ${file} is empty`)
  return secret
}

/** The end of a message about a file that cannot be read: which user has to get access, if that is the cause. */
export function accessCure(code: string | undefined): string {
  const user = process.geteuid?.()
  if (code !== 'EACCES' || user === undefined) return ''
  return `: let user ${user}, who runs this process, read the file and enter its folder`
}

/** The text of an environment variable. @throws UsageError */
export function readSecretVariable(name: string, env: NodeJS.ProcessEnv): string {
  const secret = env[name]
  if (secret === undefined) {
    if (isPlainVariable(name)) throw new UsageError(`the environment variable ${name} is not set`)
    throw new UsageError(
      `the environment variable ${ofLength(name)} is not set: name the variable, and not the secret itself`,
    )
  }
  if (secret === '') throw new UsageError(`the environment variable ${name} is empty`)
  const problem = secretProblem(secret)
  if (problem) throw new UsageError(`the environment variable ${name}: ${problem}`)
  return secret
}

// A name that does not exist may be the secret itself, in the wrong place. It is shown only if it has a form that
// is usual for names and that generated secrets do not have.
export function isPlainVariable(name: string): boolean {
  return name.length <= 64 && /^[A-Z]+(?:_[A-Z0-9]+)*$/.test(name)
}

export function isPlainFileName(file: string): boolean {
  return /^(?:\.{1,2}[\\/]|[A-Za-z]:[\\/]|\/(?:etc|home|mnt|opt|run|srv|tmp|usr|var)\/)|\.(?:key|password|pem|secret|token|txt)$/i.test(
    file,
  )
}

function ofLength(name: string): string {
  return `with a name of ${name.length} characters`
}
