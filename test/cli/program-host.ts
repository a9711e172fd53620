import { fork, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'

const RUN_COMMANDS = join(__dirname, 'run-commands.mjs')

interface CommandLine {
  args: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
  input: string
}

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

interface Connection {
  readonly socket: Socket
  readonly lines: Interface
  readonly pid: number
  readonly ended: Promise<never>
}

/**
 * The process of run-commands.mjs. The first command line of a worker of Jest starts it, and it serves all test files of
 * that worker, as starting Node and loading the modules takes longer than most command lines. It ends with the worker.
 */
export class ProgramHost {
  /** A command line has the environment and the directory of the process to itself. */
  isBusy = false
  readonly #env: NodeJS.ProcessEnv
  #connection: Connection | undefined

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env
  }

  async run(command: CommandLine): Promise<Ran> {
    this.isBusy = true
    try {
      const { socket, lines, ended } = (this.#connection ??= await this.#connect())
      socket.write(toLine(command))
      const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
      return JSON.parse(Buffer.from(line, 'base64').toString()) as Ran
    } finally {
      this.isBusy = false
    }
  }

  /** A command line that still runs would run beside those of the next test file: its process is ended. */
  close(): void {
    if (!this.#connection) return
    if (this.isBusy) process.kill(this.#connection.pid, 'SIGKILL')
    this.#connection.socket.destroy()
  }

  async #connect(): Promise<Connection> {
    const path = join(process.env['COUNTERSIGN_TEST_RUN']!, `commands-${process.env['JEST_WORKER_ID']}`)
    const socket = await connected(path).catch(async () => {
      await startProcess(path, this.#env)
      return connected(path)
    })
    const lines = createInterface(socket)
    const [pid] = (await once(lines, 'line')) as [string]
    const ended = once(socket, 'close').then(() => {
      this.#connection = undefined
      throw new Error('the process ended while it ran a command line')
    })
    ended.catch(() => {})
    return { socket, lines, pid: Number(pid), ended }
  }
}

/** In Base64: from Node 24 on, readline ends a line at U+2028 as well, which JSON need not escape. */
function toLine(command: CommandLine): string {
  return `${Buffer.from(JSON.stringify(command)).toString('base64')}\n`
}

async function connected(path: string): Promise<Socket> {
  const socket = connect(path)
  await once(socket, 'connect')
  return socket
}

/** Resolves once the process listens at `path`. */
async function startProcess(path: string, env: NodeJS.ProcessEnv): Promise<void> {
  // The process reads there what the log of the program has written without the stream of standard output.
  const log = openSync(`${path}.log`, 'w+')
  const stdio: StdioOptions = ['ignore', log, 'inherit', 'ipc']
  const child = fork(RUN_COMMANDS, [path], { execArgv: [], env, stdio })
  closeSync(log)
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the process for command lines ended at its start: ${code ?? signal}`)
  })
  ended.catch(() => {})
  await Promise.race([once(child, 'message'), ended])
  child.unref()
  child.channel!.unref()
}
