import { printableLines } from '../base/printable.js'

/** An output of commands. */
export interface Output {
  write(text: string): boolean
  readonly isTTY?: boolean
  /** The width of a terminal, in characters. */
  readonly columns?: number | undefined
}

/**
 * Escapes everything that is written, except line ends. Callers already escape foreign text when they put it into a
 * line. This catches the values that a caller missed.
 */
export function guardedOutput(stream: Output): Output {
  return {
    write: (text) => stream.write(printableLines(text)),
    get isTTY() {
      return stream.isTTY ?? false
    },
    get columns() {
      return stream.columns
    },
  }
}
