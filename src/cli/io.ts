import type { Command } from 'commander'

/** What a command reads and writes; the process itself, in the program. */
export type Io = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env' | 'cwd'>

export const EXIT = {
  done: 0,
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** The answer was not as expected, or the signature not valid. */
  unexpected: 3,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Adds a command to the program; when it has run, `finish` is told its exit code. */
export type DefineCommand = (program: Command, io: Io, finish: (code: ExitCode) => void) => void

/** Whoever started the program has to change something: exit code 2, and a message that says what. */
export class UsageError extends Error {}

/** Escapes also what JSON may hold and a terminal would take for a command: strangers write some of this. */
export function printJson(io: Io, value: unknown): void {
  const json = JSON.stringify(value, null, 2).replace(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => String.raw`\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
  io.stdout.write(`${json}\n`)
}
