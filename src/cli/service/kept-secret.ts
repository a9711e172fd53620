import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { loadEnvFile } from '../environment.js'
import { UsageError, type Io } from '../io.js'
import { appendSecretLine, writeSecretFile } from './new-secret.js'
import { readSecretFile, readSecretVariable, warnOfSecretText } from '../secret-option.js'

export interface KeptSecretFlags {
  readonly secretFile?: string
  readonly secretEnv?: string
  readonly appendTo: string
  readonly existingSecret?: true
  readonly prepare?: true
  readonly showSecret?: true
}

/** A secret that will outlive this process, and where. */
export interface KeptSecret {
  readonly secret: string
  /** As the configuration refers to it. */
  readonly reference: { readonly file: string } | { readonly env: string }
  /** As messages name it. */
  readonly place: string
}

export const KEPT_SECRET_HELP = `
The secret is made here, of 256 random bits, and kept before anything is sent: in a new file that only you may read
(--secret-file), or as a line NAME=... of an env file that only you may read (--secret-env, --append-to). What is there
already is never overwritten; with --existing-secret it is used. It is printed nowhere unless --show-secret is given.

A receiver refuses what is signed with a secret that it does not know. To lose nothing, run the command with --prepare,
start the receiver with the entry that it prints, and run it again with --existing-secret.`

export function addKeptSecretOptions(command: Command): Command {
  return command
    .addOption(new Option('--secret-file <file>', 'keep the secret in this new file').conflicts('secretEnv'))
    .option('--secret-env <name>', 'keep the secret in an env file, under this name', variableName)
    .option('--append-to <file>', 'the env file for --secret-env, made if it is not there', '.env')
    .option('--existing-secret', 'use the secret that is there already: for a repeat, or one of your own')
    .option('--prepare', 'keep the secret and print the entry, but send nothing yet')
    .option('--show-secret', 'print the secret')
}

/**
 * Makes a secret and stores it, or reads the one that is there. It is on the disk when this resolves.
 * @throws UsageError
 */
export async function keepSecret(flags: KeptSecretFlags, io: Io): Promise<KeptSecret> {
  const { secretFile: file, secretEnv: name, existingSecret } = flags
  if (file !== undefined) {
    const kept = { reference: { file }, place: `the file ${file}` }
    const path = resolve(io.cwd(), file)
    return {
      ...kept,
      secret: existingSecret
        ? warnOfSecretText(await readSecretFile(path, { written: file }), io)
        : await writeSecretFile(path, file),
    }
  }
  if (name === undefined) {
    throw new UsageError('where is the secret to be kept? Use --secret-file FILE or --secret-env NAME')
  }
  const kept = { reference: { env: name }, place: `${name} in ${flags.appendTo}` }
  if (!existingSecret) return { ...kept, secret: await appendSecretLine(name, flags.appendTo, io) }
  if (io.env[name] === undefined) await loadEnvFile(flags.appendTo, io, '--append-to')
  return { ...kept, secret: warnOfSecretText(readSecretVariable(name, io.env), io) }
}

function variableName(text: string): string {
  if (/^[A-Za-z_]\w*$/.test(text)) return text
  // Not an InvalidArgumentError, which commander prints with the text: it may be the secret itself.
  throw new UsageError(
    '--secret-env names no variable. Use letters, digits and underscores, not the secret itself',
  )
}
