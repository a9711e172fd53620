import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { accessSync, constants, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { LIMIT_MS } from './until.js'

/** Where Debian installs programs that are not on every user's PATH. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/** The path of an installed program, or undefined. A program of the PATH comes before those of `folders`. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const path = process.env['PATH']?.split(delimiter) ?? []
  return [...path, ...folders, ...MORE_FOLDERS].map((folder) => join(folder, name)).find(isExecutable)
}

/** The folders of Debian's PostgreSQL packages, the newest version first. */
export function postgresFolders(): string[] {
  const root = '/usr/lib/postgresql'
  try {
    const versions = readdirSync(root).sort((a, b) => Number(b) - Number(a))
    return versions.map((version) => join(root, version, 'bin'))
  } catch {
    return []
  }
}

/**
 * Below the ports that systems give to programs that ask for any port: from 32,768 on Linux, from 49,152 elsewhere. Above 10,080,
 * which `fetch` refuses.
 */
const PORTS = { first: 12_000, end: 32_000 }
/** More than there are workers of Jest. Each of them takes its own ports. */
const WORKERS = 8
const taken = new Set<number>()

/**
 * A TCP port of the loopback interface that is free now, and stays free: neither a connection nor a server that listens on any
 * port gets it, and this function returns it once.
 */
export async function freePort(): Promise<number> {
  const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS
  for (;;) {
    const port = randomInt(PORTS.first / WORKERS, PORTS.end / WORKERS) * WORKERS + worker
    if (taken.has(port) || !(await isFree(port))) continue
    taken.add(port)
    return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** A new folder that is removed when the process exits. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-server-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A server in a process of its own, which does not outlive the tests. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly ended: Promise<void>
  output = ''

  constructor(
    program: string,
    args: readonly string[],
    options: { uid?: number; gid?: number; cwd: string },
  ) {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => (this.output += data.toString()))
    this.ended = new Promise((resolve) => child.once('exit', () => resolve()))
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    void this.ended.then(() => process.off('exit', kill))
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Null while it runs, and after it was ended by a signal. */
  get exitCode(): number | null {
    return this.#child.exitCode
  }

  /** Sends a signal and waits for the end of the process. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal)
    await this.ended
  }

  /** Waits until `isReady` resolves to true. Rejects with the output of the server if it ends before. */
  async ready(isReady: () => Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
    const giveUpAt = performance.now() + limitMs
    let hasEnded = false
    void this.ended.then(() => (hasEnded = true))
    while (!(await isReady().catch(() => false))) {
      if (hasEnded || performance.now() > giveUpAt)
        throw new Error(`the server did not become ready: ${this.output}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
