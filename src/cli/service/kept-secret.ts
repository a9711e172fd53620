import { Option, type Command } from 'commander'
import { loadEnvFile } from '../environment.js'
import { UsageError, type Io } from '../io.js'
import { someText } from '../option-values.js'
import { appendSecretLine, writeSecretFile } from './new-secret.js'
import { readSecretFile, readSecretVariable, warnOfSecretText } from '../secret-option.js'

export interface KeptSecretFlags {
  readonly secretFile?: string
  readonly secretEnv?: string
  readonly appendTo: string
  readonly existingSecret?: true
  readonly prepare?: true
  readonly showSecret?: true
  readonly env?: string
}

/** Where a secret is stored outside this process. */
interface SecretPlace {
  /** The reference to it in the configuration. */
  readonly reference: { readonly file: string } | { readonly env: string }
  /** The place in messages. */
  readonly place: string
}

export interface KeptSecret extends SecretPlace {
  readonly secret: string
  /** The file that a command needs to have the variables of the configuration. */
  readonly envFile?: string
}

/** A command line for the user, which has the variables of the configuration. */
export function commandWith({ envFile }: KeptSecret, command: string): string {
  return `"countersign ${command}${envFile === undefined ? '' : ` --env ${envFile}`}"`
}

export const KEPT_SECRET_HELP = `
The command generates a secret of 256 random bits and writes it before it sends
anything: into a new file that only you can read (--secret-file), or as a line
NAME=... of an env file that only you can read (--secret-env, --append-to). It
never overwrites a secret; --existing-secret uses the one that is there. It
prints the secret only with --show-secret.

A receiver refuses callbacks that are signed with a secret that it does not
know. To lose none, run the command with --prepare, start the receiver with the
entry that it prints, and run the command again with --existing-secret.`

export function addKeptSecretOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--secret-file <file>', 'write the secret into this new file')
        .argParser(someText)
        .conflicts('secretEnv'),
    )
    .option('--secret-env <name>', 'write the secret into an env file, under this name', variableName)
    .option(
      '--append-to <file>',
      'the env file for --secret-env, created if it does not exist',
      someText,
      '.env',
    )
    .option('--existing-secret', 'use a secret that exists: of an earlier run, or one of your own')
    .option('--prepare', 'write the secret and print the entry, but send nothing yet')
    .option('--show-secret', 'print the secret')
}

/** Where `keepSecret` has the secret. @throws UsageError */
export function secretPlace({ secretFile: file, secretEnv: name, appendTo }: KeptSecretFlags): SecretPlace {
  if (file !== undefined) return { reference: { file }, place: `the file ${file}` }
  if (name !== undefined) return { reference: { env: name }, place: `${name} in ${appendTo}` }
  throw new UsageError('no place for the secret: use --secret-file FILE or --secret-env NAME')
}

/**
 * Generates a secret and stores it, or reads an existing one. It is on the disk when this resolves.
 * @throws UsageError
 */
export async function keepSecret(flags: KeptSecretFlags, io: Io): Promise<KeptSecret> {
  const { appendTo, existingSecret } = flags
  const kept = secretPlace(flags)
  if ('file' in kept.reference) {
    const { file } = kept.reference
    return {
      ...kept,
      // The configuration may have other secrets there.
      ...(flags.env !== undefined && { envFile: flags.env }),
      secret: existingSecret
        ? warnOfSecretText(await readSecretFile(file, io.cwd()), io)
        : await writeSecretFile(file, io),
    }
  }
  const { env: name } = kept.reference
  if (!existingSecret)
    return { ...kept, envFile: appendTo, secret: await appendSecretLine(name, appendTo, io) }
  // It may be set already, by the environment or by --env.
  const isSet = io.env[name] !== undefined
  if (!isSet) await loadEnvFile(appendTo, io, '--append-to')
  const secret = warnOfSecretText(readSecretVariable(name, io.env), io)
  const envFile = isSet ? flags.env : appendTo
  if (envFile === undefined) return { ...kept, place: `the environment variable ${name}`, secret }
  return { ...kept, place: `${name} in ${envFile}`, envFile, secret }
}

function variableName(text: string): string {
  if (/^[A-Za-z_]\w*$/.test(text)) return text
  // Not an InvalidArgumentError: commander prints its text, which may be the secret itself.
  throw new UsageError(
    '--secret-env names no variable. Use letters, digits and underscores, not the secret itself',
  )
}
