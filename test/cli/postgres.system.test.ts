import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PostgresInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { describeWithPostgres, PostgresServer } from '../support/postgres-server.js'
import { TcpProxy } from '../support/tcp-proxy.js'
import { deliver, SUBSCRIPTION } from './configured.js'
import { countersign, jsonLines, Sandbox, type Ran } from './program.js'

const sandbox = new Sandbox()
const PASSWORD = 'p4ss/word-of:the@database'

/** Everything that the program has written in a test. */
let written = ''

async function run(args: readonly string[], options: Parameters<typeof countersign>[1]): Promise<Ran> {
  const ran = await countersign(args, options)
  written += ran.stdout + ran.stderr
  return ran
}

const CONFIG = `export default {
  subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
  inbox: { postgres: { connectionString: { env: 'DATABASE_URL' } } },
  pollMs: 50,
  handlers: (registry) => registry.on('transfers.book-completed', async (event, { transaction, logger }) => {
    await transaction.query('CREATE TABLE IF NOT EXISTS public.ledger (transfer text)')
    await transaction.query('INSERT INTO public.ledger VALUES ($1)', [event.payload.Id])
    logger.info({}, 'handled ' + event.payload.Id)
  }, { transactional: true }),
}`

describeWithPostgres('an inbox in PostgreSQL', () => {
  let server: PostgresServer
  let url: string
  let cwd: string
  let env: Record<string, string>

  beforeAll(async () => {
    server = await PostgresServer.start()
  }, 60_000)
  afterAll(() => server?.stop())

  beforeEach(async () => {
    written = ''
    url = await server.createDatabase()
    const withPassword = new URL(url)
    withPassword.password = encodeURIComponent(PASSWORD)
    env = { DATABASE_URL: withPassword.href }
    cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
  })

  afterEach(async () => {
    await sandbox.clean()
    // Neither as it is meant nor as it stands in the URL.
    expect(written).not.toContain(PASSWORD)
    expect(written).not.toContain(encodeURIComponent(PASSWORD))
  })

  it('is shared by receivers that only store and workers, whose handlers commit with the end of the entry', async () => {
    const receivers = [0, 1].map(() => sandbox.serve(['--no-worker'], { cwd, env }))
    const [one, other] = (await Promise.all(receivers.map((each) => each.port()))) as [number, number]
    const again = { idempotencyKey: randomUUID(), payload: { Id: 'one' } }
    expect(await deliver(one, again)).toEqual({ status: 200 })
    expect(await deliver(other, again)).toEqual({ status: 200 })
    await receivers[1]!.line(({ outcome }) => outcome === 'duplicate')

    const work = sandbox.work([], { cwd, env })
    await work.line(({ msg }) => msg === 'entry handled')
    const { rows } = await server.query('SELECT transfer FROM public.ledger', [], url)
    expect(rows).toEqual([{ transfer: 'one' }])

    const stats = JSON.parse((await run(['inbox', 'stats', '--json'], { cwd, env })).stdout)
    expect(stats).toMatchObject({ counts: { handled: 1, stored: 0 } })
    const [entry] = jsonLines((await run(['inbox', 'list', '--json'], { cwd, env })).stdout) as [
      { id: string },
    ]
    expect(entry).toMatchObject({ state: 'handled', idempotencyKey: again.idempotencyKey })
    const shown = await run(['inbox', 'show', entry.id], { cwd, env })
    expect(shown.stdout).toContain(again.idempotencyKey)
    written += work.output + receivers.map(({ output }) => output).join('')
  }, 60_000)

  it('is operated by every command, and rotate --status says when a secret was last used', async () => {
    const serve = sandbox.serve(['--no-worker'], { cwd, env })
    await deliver(await serve.port(), { payload: { Id: 'one' } })
    await serve.line(({ outcome }) => outcome === 'stored')
    const [{ id }] = jsonLines((await run(['inbox', 'list', '--json'], { cwd, env })).stdout) as [
      { id: string },
    ]

    expect(await run(['inbox', 'discard', id, '--by', 'me'], { cwd, env })).toMatchObject({ code: 0 })
    expect(await run(['inbox', 'retry', id], { cwd, env })).toMatchObject({ code: 3 })
    expect(await run(['inbox', 'show', 'nothing'], { cwd, env })).toMatchObject({ code: 3 })
    const exported = await run(['inbox', 'list', '--json', '--body', '--state', 'discarded'], { cwd, env })
    expect(JSON.parse(exported.stdout)).toMatchObject({ id, state: 'discarded' })
    expect(await run(['inbox', 'prune', '--older-than', '7d', '--dry-run'], { cwd, env })).toMatchObject({
      code: 0,
      stdout: '0 would be deleted\n',
    })

    const status = JSON.parse((await run(['rotate', '--status', '--json'], { cwd, env })).stdout)
    expect(status).toMatchObject({
      inbox: expect.stringMatching(
        /^schema "countersign" of PostgreSQL database test_\d+_\d+ on 127\.0\.0\.1:\d+$/,
      ),
      entries: 1,
      secrets: [{ secret: 'secret', last: { entryId: id } }],
    })
  }, 60_000)

  it('is read once by --dry-run for many entries, and once more for each that might be a repeat', async () => {
    const inbox = new PostgresInbox({ connectionString: url, logger: false })
    sandbox.after(() => inbox.close())
    const addSuspects = async (count: number) => {
      for (let added = 0; added < count; added++) await inbox.add(arrival({ suspicion: 'ERR_SUSPECT' }))
    }
    const proxy = await TcpProxy.start(server.port)
    sandbox.after(() => proxy.stop())
    const proxied = { DATABASE_URL: env['DATABASE_URL']!.replace(/:\d+\//, `:${proxy.port}/`) }
    const counted = async (action: string) => {
      let [connections, transactions] = [0, 0]
      proxy.cutAfter = (bytes) => {
        if (bytes.includes('user\0')) connections++
        if (bytes.includes('COMMIT\0')) transactions++
        return false
      }
      const { stdout } = await run(['inbox', action, '--reason', 'ERR_SUSPECT', '--dry-run'], {
        cwd,
        env: proxied,
      })
      return { connections, transactions, entries: stdout.trim().split('\n').length }
    }
    await addSuspects(1)
    const one = { discard: await counted('discard'), release: await counted('release') }
    await addSuspects(19)
    const many = { discard: await counted('discard'), release: await counted('release') }
    expect(many.discard).toEqual({ ...one.discard, entries: 20 })
    const { entries, transactions, connections } = many.release
    expect({ entries, transactions }).toEqual({ entries: 20, transactions: one.release.transactions + 19 })
    // Of several entries at the same time.
    expect(connections).toBeGreaterThan(one.release.connections + 4)
  }, 60_000)

  it('is looked at by serve --check, which changes nothing', async () => {
    const check = async () => JSON.parse((await run(['serve', '--check', '--json'], { cwd, env })).stdout)
    const schemas = async () =>
      (await server.query("SELECT 1 FROM pg_namespace WHERE nspname = 'countersign'", [], url)).rowCount
    expect(await check()).toMatchObject({
      valid: true,
      inbox: expect.stringMatching(/^schema "countersign" of PostgreSQL database test_/),
      inboxEntries: 'no schema yet',
      database: { serverVersion: expect.stringMatching(/^\d+/), schemaVersion: 0, notDurable: [] },
    })
    expect(await schemas()).toBe(0)
    const { stdout } = await run(['serve', '--check'], { cwd, env })
    expect(stdout).toMatch(
      /^ {2}PostgreSQL \d+.*\n {2}schema: not there yet: the start creates version \d+$/m,
    )

    expect(await run(['inbox', 'migrate'], { cwd, env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^schema 0 -> \d+\n$/),
    })
    expect(await check()).toMatchObject({ inboxEntries: { counts: { stored: 0 } }, problems: [] })
    expect((await run(['inbox', 'migrate'], { cwd, env })).stdout).toMatch(/there was nothing to do/)
  }, 60_000)

  it('has serve --check warn of fewer connections than transactional handlers need', async () => {
    const config = CONFIG.replace("{ env: 'DATABASE_URL' }", '$&, maxConnections: 6').replace(
      'pollMs',
      'concurrency: 3, $&',
    )
    await writeFile(join(cwd, 'countersign.config.mjs'), config)
    const { code, stdout } = await run(['serve', '--check', '--strict', '--json'], { cwd, env })
    const { warnings } = JSON.parse(stdout) as { warnings: { code: string; message: string }[] }
    expect({ code, warnings }).toEqual({
      code: 2,
      warnings: [
        {
          code: 'WARN_CONCURRENCY_LIMITED',
          message: expect.stringMatching(/^concurrency is 3, but at most 2 /),
        },
      ],
    })
  }, 60_000)

  it('is created by no other command', async () => {
    const { code, stderr } = await run(['inbox', 'stats'], { cwd, env })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/there is no inbox in schema/),
    })
    await run(['inbox', 'migrate'], { cwd, env })
    await server.query('UPDATE countersign.schema_version SET version = version - 1', [], url)
    const older = await run(['inbox', 'stats'], { cwd, env })
    // Of the first version, no older one can be found.
    expect(older.stderr).toMatch(/there is no inbox|this command needs version/)
  }, 60_000)

  it('is migrated by its owner with the SQL that is printed without a connection', async () => {
    const printed = await run(['inbox', 'migrate', '--print', '--role', 'app'], { cwd })
    expect(printed.code).toBe(0)
    await server.query('DO $$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$')
    await server.query(printed.stdout, [], url)
    const asApp = new URL(url)
    asApp.username = 'app'
    const stats = await run(['inbox', 'stats', '--json'], { cwd, env: { DATABASE_URL: asApp.href } })
    expect(JSON.parse(stats.stdout)).toMatchObject({ counts: { stored: 0 } })
  }, 60_000)

  it('is refused by serve --check as by serve, if it has to be changed and the role may not do that', async () => {
    const role = `role_${randomUUID().slice(0, 8)}`
    await server.query(`CREATE ROLE ${role} LOGIN`)
    const asRole = new URL(url)
    asRole.username = role
    const options = { cwd, env: { DATABASE_URL: asRole.href } }
    const check = async () => {
      const { code, stdout } = await run(['serve', '--check', '--json'], options)
      const { problems } = JSON.parse(stdout) as { problems: { code: string; message: string }[] }
      return { code, problems }
    }
    const refused = async (state: string) => {
      const message = expect.stringContaining(`${state}, version`)
      expect(await check()).toEqual({ code: 2, problems: [{ code: 'ERR_INBOX_FORBIDDEN', message }] })
      const { code, stderr } = await run(['serve', '--port', '0'], options)
      expect({ code, stderr }).toEqual({ code: 2, stderr: message })
    }
    const accepted = async () => expect(await check()).toEqual({ code: 0, problems: [] })

    await refused('schema "countersign" does not exist')
    await server.query(`GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${role}`)
    await accepted()
    await server.query('CREATE SCHEMA countersign', [], url)
    await server.query(`GRANT USAGE ON SCHEMA countersign TO ${role}`, [], url)
    await refused('schema "countersign" does not exist')
    await server.query(`GRANT CREATE ON SCHEMA countersign TO ${role}`, [], url)
    await accepted()

    const { stdout } = await run(['inbox', 'migrate', '--print', '--role', role], { cwd })
    await server.query(stdout, [], url)
    await accepted()
  }, 60_000)

  it('may be named by COUNTERSIGN_INBOX, which comes before the configuration', async () => {
    await run(['inbox', 'migrate'], { cwd, env })
    const elsewhere = await sandbox.directory({})
    const { code, stdout } = await run(['inbox', 'stats'], {
      cwd: elsewhere,
      env: { COUNTERSIGN_INBOX: env['DATABASE_URL']! },
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^stored +0$/m) })
  }, 60_000)

  it('may have its connection string in a file', async () => {
    await run(['inbox', 'migrate'], { cwd, env })
    await writeFile(join(cwd, 'database-url'), `${env['DATABASE_URL']}\n`, { mode: 0o600 })
    const config = CONFIG.replace("{ env: 'DATABASE_URL' }", "{ file: 'database-url' }")
    const other = await sandbox.directory({ 'countersign.config.mjs': config })
    await writeFile(join(other, 'database-url'), `${env['DATABASE_URL']}\n`, { mode: 0o600 })
    expect(await run(['inbox', 'stats'], { cwd: other })).toMatchObject({ code: 0 })
  }, 60_000)
})

describe('the schema', () => {
  afterEach(() => sandbox.clean())

  it.each([
    ['inbox', 'migrate', '--print'],
    ['serve', '--check'],
  ])(
    'is refused with the place where it is set, if PostgreSQL takes its name for another: %s',
    async (...args) => {
      const inbox = JSON.stringify({
        postgres: { connectionString: { env: 'DATABASE_URL' }, schema: '$user' },
      })
      const cwd = await sandbox.directory({
        'countersign.config.mjs': `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], inbox: ${inbox} }`,
      })
      const { code, stdout, stderr } = await run(args, { cwd })
      expect({ code, stdout, stderr }).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(
          'countersign.config.mjs: inbox.postgres: schema is "$user": use a name',
        ),
      })
    },
  )
})
