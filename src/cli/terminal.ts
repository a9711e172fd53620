import { printableLines } from '../base/printable.js'

export interface Output {
  /** `taken` is called when the reader has taken the text, or with the reason why it cannot. */
  write(text: string, taken?: (error?: Error | null) => void): boolean
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
