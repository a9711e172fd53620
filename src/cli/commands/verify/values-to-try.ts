import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readBounded } from '../../bounded-read.js'
import { withHiddenLines } from '../../hidden-lines.js'
import type { Io } from '../../io.js'
import { someText } from '../../option-values.js'
import { isPlainFileName, readSecretFile, readSecretVariable } from '../../secret-option.js'

export interface TryFlags {
  readonly secretFile?: readonly string[]
  readonly secretEnv?: readonly string[]
  readonly urlFile?: readonly string[]
  readonly urlEnv?: readonly string[]
  readonly ask?: true
}

export interface ValuesToTry {
  readonly secrets: readonly string[]
  /** The option that gave each secret, as it was written. */
  readonly secretsFrom: readonly string[]
  readonly urls: readonly string[]
}

export function addTryOptions(command: Command): Command {
  return command
    .option('--secret-file <file>', 'a file with one more secret to try; can be repeated', append)
    .option('--secret-env <name>', 'a variable with one more secret to try; can be repeated', append)
    .option('--url-file <file>', 'a file with more URLs to try, one in a line; can be repeated', append)
    .option('--url-env <name>', 'a variable with more URLs to try, separated by spaces', append)
    .option('--ask', 'ask for secrets and URLs to try')
}

/** @throws UsageError */
export async function readValuesToTry(flags: TryFlags, io: Io): Promise<ValuesToTry> {
  const secrets: string[] = []
  const secretsFrom: string[] = []
  for (const file of flags.secretFile ?? []) {
    secrets.push(await readSecretFile(file, io.cwd()))
    secretsFrom.push(`of --secret-file ${file}`)
  }
  for (const name of flags.secretEnv ?? []) {
    secrets.push(readSecretVariable(name, io.env))
    secretsFrom.push(`of --secret-env ${name}`)
  }
  const texts: string[] = []
  for (const file of flags.urlFile ?? []) texts.push(await readUrlFile(resolve(io.cwd(), file), file))
  for (const name of flags.urlEnv ?? []) texts.push(readSecretVariable(name, io.env))
  const urls = texts.flatMap((text) => text.split(/\s+/)).filter((url) => url !== '')
  const asked = flags.ask ? await ask(io) : { secrets: [], urls: [] }
  return {
    secrets: [...secrets, ...asked.secrets],
    secretsFrom: [...secretsFrom, ...asked.secrets.map((_, at) => `${at + 1} of --ask`)],
    urls: [...urls, ...asked.urls],
  }
}

function append(value: string, values: readonly string[] = []): string[] {
  return [...values, someText(value)]
}

async function readUrlFile(path: string, written: string): Promise<string> {
  // A URL in place of the name of a file may have a token in its query.
  const shown = isPlainFileName(written) ? path : `a file with a name of ${written.length} characters`
  return (await readBounded(path, `the list of URLs in ${shown}`)).toString('utf8')
}

/** Two lists of lines of the standard input, each ended by an empty line. */
async function ask(io: Io): Promise<Omit<ValuesToTry, 'secretsFrom'>> {
  return withHiddenLines(io, async (askHidden) => {
    const list = async (question: string): Promise<string[]> => {
      const found: string[] = []
      for (let line; (line = await askHidden(question));) found.push(line)
      return found
    }
    return {
      secrets: await list('A secret to try, not shown (empty: no more): '),
      urls: await list('A URL to try, not shown (empty: no more): '),
    }
  })
}
