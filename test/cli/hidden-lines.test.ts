import { PassThrough } from 'node:stream'
import { withHiddenLines } from '../../src/cli/hidden-lines.js'
import type { Io } from '../../src/cli/io.js'

/** A terminal on which these characters are typed when a question is asked. */
function terminal(typed: string) {
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => modes.push(mode),
  })
  const stderr = { write: (text: string) => (text === '\n' ? true : stdin.write(typed)) }
  return { io: { stdin, stderr } as unknown as Io, modes }
}

afterEach(() => jest.restoreAllMocks())

it('reads a line without showing it, and leaves raw mode', async () => {
  const { io, modes } = terminal('hush\r')
  expect(await withHiddenLines(io, (ask) => ask('The secret: '))).toBe('hush')
  expect(modes).toEqual([true, false])
})

it('ends the process at Ctrl+C, as a signal would, when it has left raw mode', async () => {
  const { io, modes } = terminal('hus\u0003')
  const kill = jest.spyOn(process, 'kill').mockReturnValue(true)
  await withHiddenLines(io, (ask) => ask('The secret: '))
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGINT']])
  expect(modes).toEqual([true, false])
})
