import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { killPostgres } from './kill-postgres.js'
import { findProgram, freePort, postgresFolders, ServerProcess, temporaryFolder } from './server-program.js'

const INITDB = findProgram('initdb', postgresFolders())
const POSTGRES = findProgram('postgres', postgresFolders())

/** Whether a PostgreSQL server can be started. If not, one line says how to install it. */
export const hasPostgres = INITDB !== undefined && POSTGRES !== undefined
if (!hasPostgres)
  process.stderr.write('tests with PostgreSQL are skipped; to install it: apt-get install postgresql\n')

/** `describe`, skipped where PostgreSQL is not installed. Undefined outside of Jest, as in the crash test. */
export const describeWithPostgres = hasPostgres ? globalThis.describe : globalThis.describe?.skip

/** For tests that are not about what a crash of the machine leaves. The end of the server alone loses nothing with them. */
export const QUICK_SETTINGS = ['fsync = off', 'full_page_writes = off']

/** A PostgreSQL server on the loopback interface, with its data in a temporary folder. */
export class PostgresServer {
  readonly port: number
  readonly #folder: string
  readonly #user: ServerUser | undefined
  #process: ServerProcess | undefined
  #databases = 0

  private constructor(port: number, folder: string, user: ServerUser | undefined) {
    this.port = port
    this.#folder = folder
    this.#user = user
  }

  /** Makes a cluster and starts it. `settings` are lines of postgresql.conf. */
  static async start(settings: readonly string[] = [], folder = temporaryFolder()): Promise<PostgresServer> {
    const user = serverUser()
    if (user) chownSync(folder, user.uid, user.gid)
    const server = new PostgresServer(await freePort(), folder, user)
    makeCluster(server.#data, user)
    server.configure(['max_connections = 60', 'shared_buffers = 32MB', ...settings])
    await server.restart()
    return server
  }

  /** Starts a standby that follows this server, which is stopped for a moment. It has its own port and data. */
  async startStandby(): Promise<PostgresServer> {
    const folder = temporaryFolder()
    if (this.#user) chownSync(folder, this.#user.uid, this.#user.gid)
    const standby = new PostgresServer(await freePort(), folder, this.#user)
    await this.stop()
    execFileSync('cp', ['-a', this.#data, standby.#data])
    await this.restart()
    writeFileSync(join(standby.#data, 'standby.signal'), '')
    standby.configure([`primary_conninfo = 'host=127.0.0.1 port=${this.port} user=postgres'`])
    await standby.restart()
    return standby
  }

  /** Makes a folder that the server can write to. */
  makeFolder(path: string): void {
    mkdirSync(path)
    if (this.#user) chownSync(path, this.#user.uid, this.#user.gid)
  }

  /** Appends lines to postgresql.conf. They are in force after `restart` or a reload. */
  configure(settings: readonly string[]): void {
    appendFileSync(join(this.#data, 'postgresql.conf'), `${settings.join('\n')}\n`)
  }

  /** Starts the server if it is not running. */
  async restart(): Promise<void> {
    const sockets = join(this.#folder, 'sockets')
    if (!existsSync(sockets)) this.makeFolder(sockets)
    const args = ['-D', this.#data, '-p', String(this.port), '-h', '127.0.0.1', '-k', sockets]
    for (let tries = 1; ; tries++) {
      this.#process = new ServerProcess(POSTGRES!, args, { ...this.#user, cwd: this.#folder })
      try {
        return await this.#process.ready(async () => (await this.query('SELECT 1')).rowCount === 1)
      } catch (error) {
        // A process that has been killed has not quite ended yet.
        if (tries === 20 || !String(error).includes('shared memory block')) throw error
      }
    }
  }

  /** Ends the server and its processes as a crash does. */
  async kill(): Promise<void> {
    killPostgres(this.pid)
    await this.ended
  }

  /** Ends the server in order; all connections are closed. */
  async stop(): Promise<void> {
    await this.#process!.stop('SIGINT')
  }

  /** Makes an empty database and returns its connection string. */
  async createDatabase(): Promise<string> {
    const name = `test_${process.pid}_${++this.#databases}`
    await this.query(`CREATE DATABASE ${name}`)
    return this.connectionString(name)
  }

  connectionString(database = 'postgres', user = 'postgres'): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`
  }

  /** Runs one statement as the superuser, on a connection of its own. */
  async query(sql: string, values: unknown[] = [], database?: string): Promise<pg.QueryResult> {
    const client = new pg.Client(database ?? this.connectionString())
    // A server that is killed closes it with an error, which would end the process.
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.query(sql, values)
    } finally {
      await client.end()
    }
  }

  /** Ends the server without the last checkpoint, and removes its data. */
  async remove(): Promise<void> {
    await this.#process!.stop('SIGQUIT')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get pid(): number {
    return this.#process!.pid
  }

  /** Resolves once the server that was started last has ended. */
  get ended(): Promise<void> {
    return this.#process!.ended
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }
}

/** In a run of Jest, initdb runs once and its result is copied: initdb takes longer than most test files. */
function makeCluster(data: string, user: ServerUser | undefined): void {
  const folder = process.env['COUNTERSIGN_TEST_RUN']
  if (!folder) return initdb(data, user)
  const made = join(folder, 'cluster')
  if (!existsSync(made)) {
    const unfinished = join(folder, `cluster-${process.pid}`)
    mkdirSync(unfinished)
    // Only this folder: Chromium refuses to use temporary files in a folder of another user.
    if (user) chownSync(unfinished, user.uid, user.gid)
    initdb(unfinished, user)
    try {
      renameSync(unfinished, made)
    } catch (error) {
      // The other worker may have been first.
      if (!existsSync(made)) throw error
    }
  }
  // With the owner, which PostgreSQL checks.
  execFileSync('cp', ['-a', made, data])
}

function initdb(data: string, user: ServerUser | undefined): void {
  // With small files of its log, as a server has at least one, which takes longest to copy.
  const args = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--wal-segsize=1']
  execFileSync(INITDB!, ['-D', data, ...args], { ...user, cwd: dirname(data), stdio: 'ignore' })
}

interface ServerUser {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL refuses to run as root. */
function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  const fields = users.map((line) => line.split(':')).find(([name]) => name === 'postgres')
  if (!fields) throw new Error('to run PostgreSQL as root, a user named postgres is needed')
  return { uid: Number(fields[2]), gid: Number(fields[3]) }
}
