import { createInterface } from 'node:readline'
import type { Io } from './io.js'

/** Writes a question and resolves to the next line of the standard input; undefined at its end. */
type AskHidden = (question: string) => Promise<string | undefined>

/** Lets `use` ask for lines. If the standard input is a terminal, the typed characters are not shown. */
export async function withHiddenLines<Result>(
  { stdin, stderr }: Io,
  use: (ask: AskHidden) => Promise<Result>,
): Promise<Result> {
  // Without an output, readline shows nothing; in raw mode, neither does the terminal.
  const lines = createInterface({ input: stdin, terminal: stdin.isTTY })
  // In raw mode Ctrl+C is a character and not a signal. Without a listener, readline takes it for the end of the input.
  lines.on('SIGINT', () => {
    lines.close()
    process.kill(process.pid, 'SIGINT')
  })
  const answers = lines[Symbol.asyncIterator]()
  try {
    return await use(async (question) => {
      stderr.write(question)
      const { value, done } = (await answers.next()) as IteratorResult<string, undefined>
      if (stdin.isTTY) stderr.write('\n')
      return done ? undefined : value
    })
  } finally {
    lines.close()
  }
}
