import { createHash, randomUUID } from 'node:crypto'
import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SqliteInbox } from '../support/whole-inbox.js'
import { deliver, SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const DAY_MS = 86_400_000

/** What needs secrets and handlers that an operator does not have. */
function config(options: object = {}): string {
  return JSON.stringify({
    subscriptions: [{ ...SUBSCRIPTION, secret: { env: 'NOT_THERE' } }],
    handlers: './not-there.mjs',
    ...options,
  })
}

/** An inbox with one callback that was discarded so many days ago. */
async function withDiscarded(file: string, daysAgo: number): Promise<void> {
  const at = Date.now() - daysAgo * DAY_MS
  await store(file, at)
  const inbox = new SqliteInbox({ file, clock: () => at })
  await inbox.act('1', 'discard', 'ann')
  await inbox.close()
}

/** An inbox with one callback that was handled so many days ago. */
async function withHandled(file: string, daysAgo: number): Promise<void> {
  const at = Date.now() - daysAgo * DAY_MS
  await store(file, at)
  const inbox = new SqliteInbox({ file, clock: () => at })
  const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
  await inbox.settle([{ claim: entries[0]!, end: { move: 'complete' } }])
  await inbox.close()
}

/** Stores a callback that was signed and received then. */
async function store(file: string, at: number): Promise<void> {
  const inbox = new SqliteInbox({ file, clock: () => at })
  const { secret: _, ...subscription } = SUBSCRIPTION
  const [key, signature] = [randomUUID(), createHash('sha256').update(randomUUID()).digest('base64')]
  await inbox.add({
    callback: {
      type: subscription.eventTypeName,
      idempotencyKey: key,
      signedAt: new Date(at),
      receivedAt: new Date(at),
      rawBody: Buffer.from('{}'),
      subscription: { id: 'tenant-1', ...subscription },
      secretFingerprint: '0123456789ab',
    },
    key,
    bodyHash: 'a'.repeat(44),
    signature,
  })
  await inbox.close()
}

const LIBRARY = pathToFileURL(join(__dirname, '../../dist')).href

/** A configuration that makes its inbox itself. */
function making(inbox: 'MemoryInbox()' | "SqliteInbox({ file: 'made.db' })"): string {
  return `import { MemoryInbox } from '${LIBRARY}/index.js'
    import { SqliteInbox } from '${LIBRARY}/sqlite.js'
    export default { subscriptions: ${JSON.stringify([SUBSCRIPTION])}, inbox: new ${inbox} }`
}

async function stats(cwd: string, args: string[] = [], env: Record<string, string> = {}) {
  return countersign(['inbox', 'stats', ...args], { cwd, env })
}

test('SQL is printed for a database only, and the message says where to name it', async () => {
  const cwd = await sandbox.directory({})
  const { code, stdout, stderr } = await countersign(['inbox', 'migrate', '--print'], { cwd })
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /the file callbacks\.db .*name the database in the configuration or in COUNTERSIGN_INBOX/,
    ),
  })
})

describe('the file of countersign inbox', () => {
  it('is that of the configuration where one stands, whose secrets and handlers are not needed', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.json': config({ inbox: { file: 'elsewhere.db' } }),
    })
    await withDiscarded(join(cwd, 'elsewhere.db'), 1)
    expect(await stats(cwd)).toMatchObject({ code: 0, stdout: expect.stringMatching(/discarded +1/) })
  })

  it('is beside the configuration that --config or COUNTERSIGN_CONFIG names', async () => {
    const there = await sandbox.directory({ 'other.json': config() })
    await withDiscarded(join(there, 'callbacks.db'), 1)
    const cwd = await sandbox.directory({})
    expect((await stats(cwd, ['--config', join(there, 'other.json')])).stdout).toMatch(/discarded +1/)
    expect((await stats(cwd, [], { COUNTERSIGN_CONFIG: join(there, 'other.json') })).stdout).toMatch(
      /discarded +1/,
    )
  })

  it('is that of the flag, then of the environment, then of the configuration', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.json': config({ inbox: 'none-such.db' }),
      '.env': 'COUNTERSIGN_INBOX=b.db',
    })
    await withDiscarded(join(cwd, 'a.db'), 1)
    await copyFile(join(cwd, 'a.db'), join(cwd, 'b.db'))
    expect((await stats(cwd)).stderr).toMatch(/there is no inbox .*none-such\.db/)
    expect((await stats(cwd, [], { COUNTERSIGN_INBOX: 'a.db' })).code).toBe(0)
    expect((await stats(cwd, ['--env', '.env'])).code).toBe(0)
    expect((await stats(cwd, ['--inbox', 'b.db'], { COUNTERSIGN_INBOX: 'none-such.db' })).code).toBe(0)
  })

  it.each([
    [{ inbox: false }, {}, 'countersign.config.json has none'],
    [{}, { COUNTERSIGN_INBOX: 'none' }, 'COUNTERSIGN_INBOX says none'],
  ])('is refused where there is to be none: %j %j', async (options, env, message) => {
    const cwd = await sandbox.directory({ 'countersign.config.json': config(options) })
    expect(await stats(cwd, [], env)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })

  it('may be an inbox that the configuration has made itself', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': making("SqliteInbox({ file: 'made.db' })"),
    })
    await withDiscarded(join(cwd, 'made.db'), 1)
    expect(await stats(cwd)).toMatchObject({ code: 0, stdout: expect.stringMatching(/discarded +1/) })
  })

  it.each([
    ['inbox', 'migrate'],
    ['inbox', 'migrate', '--print'],
    ['rotate', '--status'],
  ])('is not looked for in an inbox that the configuration has made itself: %s %s', async (...command) => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': making("SqliteInbox({ file: 'made.db' })"),
    })
    const stderr = expect.stringMatching(/the configuration makes the inbox itself.* with --inbox; /)
    expect(await countersign(command, { cwd })).toMatchObject({ code: 2, stderr })
  })

  it.each([
    ['inbox', 'stats'],
    ['inbox', 'retry', '7'],
    ['inbox', 'migrate'],
    ['rotate', '--status'],
  ])('cannot be in the memory of another process: %s %s', async (...command) => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': making('MemoryInbox()') })
    const stderr = expect.stringMatching(/is a MemoryInbox, and only the process .* set inbox to \{ file \}/)
    expect(await countersign(command, { cwd })).toMatchObject({ code: 2, stderr })
  })

  it('is not looked for by a misspelled option', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.json': config({ inbx: 'a.db' }) })
    expect(await stats(cwd)).toMatchObject({ code: 2, stderr: expect.stringContaining('no option "inbx"') })
  })

  it('can be named where the configuration cannot be read', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.json': '{' })
    await withDiscarded(join(cwd, 'callbacks.db'), 1)
    expect((await stats(cwd)).code).toBe(2)
    expect((await stats(cwd, ['--inbox', 'callbacks.db'])).code).toBe(0)
  })
})

describe('countersign inbox prune', () => {
  const prune = async (options: object, args: string[] = [], env: Record<string, string> = {}) => {
    const cwd = await sandbox.directory({ 'countersign.config.json': config(options) })
    await withHandled(join(cwd, 'callbacks.db'), 10)
    await store(join(cwd, 'callbacks.db'), Date.now())
    return countersign(['inbox', 'prune', '--older-than', '1d', ...args], { cwd, env })
  }

  it('deletes what is older than the retention', async () => {
    expect(await prune({})).toMatchObject({ code: 0, stdout: '1 deleted\n' })
  })

  it.each<[string, object, Record<string, string>]>([
    ['retentionMs of its inbox', { inbox: { retentionMs: 11 * DAY_MS } }, {}],
    ['toleranceMs', { toleranceMs: 11 * DAY_MS }, {}],
    ['tolerance in the environment', {}, { COUNTERSIGN_TOLERANCE_MS: String(11 * DAY_MS) }],
  ])('keeps what the receiver has to remember by the %s', async (_, options, env) => {
    const { stdout, stderr } = await prune(options, [], env)
    expect(stdout).toBe('0 deleted\n')
    expect(stderr).toMatch(/the inbox keeps handled entries for 264 hours: none younger than that is deleted/)
  })

  it('keeps it also where the file is named otherwise', async () => {
    const options = { inbox: false, toleranceMs: 11 * DAY_MS }
    expect((await prune(options, ['--inbox', 'callbacks.db'])).stdout).toBe('0 deleted\n')
  })

  it('deletes nothing that is old by the clock of this machine alone, and says so', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.json': config() })
    await withHandled(join(cwd, 'callbacks.db'), 10)
    for (const [args, said] of [
      [[], '0 deleted\n'],
      [['--dry-run'], '0 would be deleted\n'],
    ] as const) {
      const ran = await countersign(['inbox', 'prune', '--older-than', '8d', ...args], { cwd })
      expect(ran).toMatchObject({
        code: 0,
        stdout: said,
        stderr: expect.stringMatching(/but not by the times that the service has signed/),
      })
    }
  })

  it('keeps discarded entries for the discardedRetentionMs of the configuration', async () => {
    for (const [options, said] of [
      [{}, '0 deleted\n'],
      [{ inbox: { discardedRetentionMs: 9 * DAY_MS } }, '1 deleted\n'],
    ] as const) {
      const cwd = await sandbox.directory({ 'countersign.config.json': config(options) })
      await withDiscarded(join(cwd, 'callbacks.db'), 10)
      await store(join(cwd, 'callbacks.db'), Date.now())
      const args = ['inbox', 'prune', '--older-than', '1d', '--state', 'discarded']
      const ran = await countersign(args, { cwd })
      expect(ran).toMatchObject({ code: 0, stdout: said })
      expect(ran.stderr).toMatch(/the inbox keeps discarded entries for \d+ hours/)
    }
  })

  it('says with --dry-run what it would delete, by the same measure', async () => {
    expect((await prune({ toleranceMs: 11 * DAY_MS }, ['--dry-run'])).stdout).toBe('0 would be deleted\n')
    expect((await prune({}, ['--dry-run'])).stdout).toBe('1 would be deleted\n')
  })
})

describe('serve --check', () => {
  const check = (cwd: string, ...args: string[]) => countersign(['serve', '--check', ...args], { cwd })
  const CONFIG = JSON.stringify({ subscriptions: [SUBSCRIPTION] })

  it('says that there is no file yet, and makes none', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.json': CONFIG })
    expect((await check(cwd)).stdout).toMatch(/inbox: .*callbacks\.db\n {2}no file yet\n/)
    expect(await readdir(cwd)).toEqual(['countersign.config.json'])
  })

  it('counts what is in the file, and says since when the oldest waits', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.json': CONFIG })
    await withDiscarded(join(cwd, 'callbacks.db'), 1)
    const quiet = JSON.parse((await check(cwd, '--json')).stdout) as object
    expect(quiet).toMatchObject({ inboxEntries: { counts: { discarded: 1, stored: 0 } } })
    expect((await check(cwd)).stdout).toMatch(/callbacks\.db\n {2}discarded {2}1\n/)
  })

  it('counts while the receiver runs', async () => {
    const handlers = { inbox: { file: 'a.db' }, retryDelayMs: 600_000, maxRetryDelayMs: 600_000 }
    const cwd = await sandbox.directory({
      'countersign.config.mjs': `export default { ...${JSON.stringify({ subscriptions: [SUBSCRIPTION], ...handlers })},
        handlers: { 'transfers.book-completed': () => { throw new Error('not today') } } }`,
    })
    const serve = sandbox.serve([], { cwd })
    await deliver(await serve.port())
    await serve.line(({ msg }) => msg === 'entry failed, to be retried')
    expect((await check(cwd)).stdout).toMatch(/retrying {2}1\n {2}the oldest unfinished one arrived 20/)
  })

  const OTHER = 'something else entirely, and long enough to be no empty database'

  it('refuses a file that is no inbox, and leaves it as it is', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.json': CONFIG,
      'callbacks.db': OTHER,
    })
    const { code, stdout } = await check(cwd, '--json')
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      code: 'ERR_INBOX_CORRUPT',
      inboxEntries: 'not readable',
    })
    expect(await readFile(join(cwd, 'callbacks.db'), 'utf8')).toBe(OTHER)
    expect(await readdir(cwd)).toEqual(['callbacks.db', 'countersign.config.json'])
  })
})
