import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Option, type Command } from 'commander'
import { UsageError, type Io } from './io.js'

export interface BodyFlags {
  readonly body?: string
  readonly bodyFile?: string
}

export function addBodyOptions(command: Command): Command {
  return command
    .addOption(new Option('--body <text>', 'the body').conflicts('bodyFile'))
    .option('--body-file <file>', 'the file with the bytes of the body; - is the standard input')
}

/** The bytes from the options; undefined if none are given. @throws UsageError */
export async function readBody({ body, bodyFile }: BodyFlags, io: Io): Promise<Buffer | undefined> {
  if (body !== undefined) return Buffer.from(body)
  if (bodyFile === undefined) return undefined
  if (bodyFile === '-') return buffer(io.stdin)
  try {
    return await readFile(resolve(io.cwd(), bodyFile))
  } catch (error) {
    throw new UsageError(`cannot read the body from ${bodyFile} (${(error as NodeJS.ErrnoException).code})`)
  }
}
