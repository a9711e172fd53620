import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { ProgramHost, type Ran } from './program-host.js'

export type { Ran } from './program-host.js'

const BIN = join(__dirname, '../../dist/cli/bin.js')
/** A device of Linux that has no space left. */
export const FULL_DISK = '/dev/full'

export interface RunOptions {
  cwd?: string
  env?: Record<string, string>
  input?: string
  /** The limit of open files. */
  openFiles?: number
}

/**
 * Runs a command line to its end, in the process of ProgramHost, or in one of its own where it needs one. What the two have
 * in common is all of the program but bin.ts. `serve` and `work` come to an end here if they cannot start; `Sandbox` has
 * them where they can.
 */
export async function countersign(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  if (needsProcess(options)) return countersignProcess(args, options)
  const { cwd = process.cwd(), input = '' } = options
  return host.run({ args, cwd, env: environment(options), input })
}

/** Runs the program to its end, in a process of its own. */
export async function countersignProcess(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = start(args, options)
  child.stdin!.on('error', () => {}).end(options.input ?? '')
  return endOf(child)
}

/** Runs the program with an output that nobody reads. */
export function countersignUnread(
  args: readonly string[],
  options: RunOptions = {},
  unread: 'stdout' | 'stderr' = 'stdout',
): Promise<Ran> {
  const child = start(args, options)
  child[unread]!.destroy()
  return endOf(child)
}

/** Runs the program with a standard output on a disk that is full. */
export async function countersignOnFullDisk(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const full = openSync(FULL_DISK, 'w')
  try {
    return await endOf(start(args, options, full))
  } finally {
    closeSync(full)
  }
}

async function endOf(child: ChildProcess): Promise<Ran> {
  const [stdout, stderr, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return { code, stdout, stderr }
}

/** The empty text of an output that nobody reads. */
async function textOf(stream: ChildProcess['stdout']): Promise<string> {
  return stream && !stream.destroyed ? text(stream) : ''
}

export type LogLine = Record<string, unknown> & { level: string; msg: string }

export class Serving {
  readonly lines: LogLine[] = []
  /** All that was written to standard output and standard error. */
  output = ''
  readonly exit: Promise<number | null>
  readonly #child: ChildProcess
  #waiting: (() => void)[] = []
  #ended = false

  constructor(args: readonly string[], options: RunOptions) {
    this.#child = start(args, options)
    this.#child.stderr!.on('data', (bytes: Buffer) => (this.output += bytes.toString()))
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      this.output += `${line}\n`
      if (line.startsWith('{')) this.lines.push(JSON.parse(line) as LogLine)
      this.#look()
    })
    this.exit = once(this.#child, 'close').then(([code]) => {
      this.#ended = true
      this.#look()
      return code as number | null
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** The first line that matches, whether it has come already or not. */
  line(matches: (line: LogLine) => boolean): Promise<LogLine> {
    return this.#until(() => this.lines.find(matches))
  }

  outputMatch(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.output) ?? undefined)
  }

  async port(): Promise<number> {
    const [, port] = await this.outputMatch(/listening on http:\/\/[^ "]+:(\d+)/)
    return Number(port)
  }

  async stop(): Promise<void> {
    if (!this.#ended) this.signal('SIGKILL')
    await this.exit
  }

  async #until<Found>(find: () => Found | undefined): Promise<Found> {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (this.#ended) throw new Error(`the program ended before that. It wrote:\n${this.output}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #look(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const look of waiting) look()
  }
}

/** Directories and running programs of one test, for `afterEach`. */
export class Sandbox {
  readonly #undo: (() => Promise<void>)[] = []

  async directory(files: Record<string, string>): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'countersign-cli-'))
    this.#undo.push(() => rm(directory, { recursive: true }))
    for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content)
    return directory
  }

  /** `serve` on a free port. */
  serve(args: readonly string[], options: RunOptions): Serving {
    return this.#run(['serve', '--port', '0', ...args], options)
  }

  work(args: readonly string[], options: RunOptions): Serving {
    return this.#run(['work', ...args], options)
  }

  #run(args: readonly string[], options: RunOptions): Serving {
    const serving = new Serving(args, options)
    this.#undo.push(() => serving.stop())
    return serving
  }

  after(undo: () => Promise<void>): void {
    this.#undo.push(undo)
  }

  async clean(): Promise<void> {
    for (const undo of this.#undo.splice(0).toReversed()) await undo()
  }
}

function start(args: readonly string[], options: RunOptions, stdout: 'pipe' | number = 'pipe'): ChildProcess {
  const { cwd, openFiles } = options
  const command = [process.execPath, BIN, ...args]
  // The shell has the limit first, because Node raises a lower soft limit to the hard one.
  if (openFiles !== undefined) command.unshift('sh', '-c', `ulimit -n ${openFiles}; exec "$0" "$@"`)
  return spawn(command[0]!, command.slice(1), {
    cwd,
    env: environment(options),
    stdio: ['pipe', stdout, 'pipe'],
  })
}

function environment({ env }: RunOptions): NodeJS.ProcessEnv {
  const { PATH } = process.env
  return { PATH, ...env }
}

const host = new ProgramHost(environment({}))
afterAll(() => host.close())

function needsProcess({ cwd }: RunOptions): boolean {
  return host.isBusy || (cwd !== undefined && hasOtherModules(cwd))
}

const modulesIn = new Map<string, string>()

/** Whether the directory's modules have changed since they were first seen: a process keeps what it has imported. */
function hasOtherModules(directory: string): boolean {
  const names = readdirSync(directory).filter((name) => /\.[cm]?[jt]s$/.test(name))
  const modules = JSON.stringify(names.map((name) => [name, readFileSync(join(directory, name), 'latin1')]))
  if (!modulesIn.has(directory)) modulesIn.set(directory, modules)
  return modulesIn.get(directory) !== modules
}

/** What a command prints that writes a line of JSON for each entry. */
export function jsonLines(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}
