import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { boundedBytes, readBounded } from './bounded-read.js'
import type { Io } from './io.js'
import { someText } from './option-values.js'

export interface BodyFlags {
  readonly body?: string
  readonly bodyFile?: string
}

export function addBodyOptions(command: Command): Command {
  return command
    .addOption(new Option('--body <text>', 'the body').conflicts('bodyFile'))
    .option('--body-file <file>', 'the file with the bytes of the body; - is the standard input', someText)
}

/** The bytes from the options; undefined if none are given. @throws UsageError */
export async function readBody({ body, bodyFile }: BodyFlags, io: Io): Promise<Buffer | undefined> {
  if (body !== undefined) return Buffer.from(body)
  if (bodyFile === undefined) return undefined
  if (bodyFile === '-') return readStdin(io)
  return readBounded(resolve(io.cwd(), bodyFile), `the body from ${bodyFile}`)
}

/** The bytes of the standard input. @throws UsageError */
export function readStdin({ stdin }: Io): Promise<Buffer> {
  return boundedBytes(stdin, 'the standard input')
}
