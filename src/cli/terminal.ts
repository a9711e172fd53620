import { printableLines } from '../base/printable.js'

/** What commands write to. */
export interface Output {
  write(text: string): boolean
  readonly isTTY?: boolean
  /** The width of a terminal, in characters. */
  readonly columns?: number | undefined
}

/**
 * Escapes whatever is written, with the exception of line ends. Callers make foreign text printable where they put it into
 * a line; this catches the value that a caller has overlooked.
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
