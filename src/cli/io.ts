import type { Command } from 'commander'
import { printable, printableJson, printableLines } from '../base/printable.js'

export interface Output {
  /** `taken` is called when the reader has taken the text, or with the reason why it cannot. */
  write(text: string, taken?: (error?: Error | null) => void): boolean
  readonly isTTY?: boolean
  /** The width of a terminal, in characters. */
  readonly columns?: number | undefined
}

/** What a command reads and writes. In the program it is the process itself. */
export interface Io extends Pick<NodeJS.Process, 'stdin' | 'env' | 'cwd'> {
  readonly stdout: Output
  readonly stderr: Output
}

export const EXIT = {
  done: 0,
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** An unexpected answer, or an invalid signature. */
  unexpected: 3,
} as const

/** Codes of failures outside the configuration, such as an address in use: EXIT.failed, and not EXIT.usage. */
export const DEPENDENCY_FAILURES: ReadonlySet<string> = new Set([
  'ERR_INBOX_BUSY',
  'ERR_INBOX_FULL',
  'ERR_INBOX_UNREACHABLE',
  'ERR_LISTEN_FAILED',
  'ERR_STORE_UNAVAILABLE',
])

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Gives a command its options, its help and its action. When the action has run, it passes its exit code to `finish`. */
export type DefineCommand = (command: Command, io: Io, finish: (code: ExitCode) => void) => void

/** The user has to change something: exit code 2, with a message that says what. */
export class UsageError extends Error {}

/** Escapes control characters, which a terminal may execute: unauthenticated senders write some of the values. */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`)
}

/** Writes an error message of one line to standard error. */
export function complain(io: Io, message: string): void {
  io.stderr.write(`countersign: ${printable(message)}\n`)
}

/**
 * Escapes everything that is written, except line ends. Callers already escape foreign text when they put it into a
 * line. This catches the values that a caller missed.
 */
export function guardedOutput(stream: Output): Output {
  return {
    write: (text, taken) => stream.write(printableLines(text), taken),
    get isTTY() {
      return stream.isTTY ?? false
    },
    get columns() {
      // 0 if the terminal does not know its width, as under some CI services.
      return stream.columns === 0 ? undefined : stream.columns
    },
  }
}
