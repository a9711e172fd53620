import { SUBSCRIPTION } from './configured.js'
import { countersign, Sandbox, type Ran } from './program.js'

const sandbox = new Sandbox()
const PASSWORD = 'p4ss/word-of:the@database'
const SECRET_URL = `postgres://app:${encodeURIComponent(PASSWORD)}@127.0.0.1:1/accounts`

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
  handlers: { 'transfers.book-completed': () => {} },
}`

afterEach(async () => {
  await sandbox.clean()
  for (const text of [PASSWORD, encodeURIComponent(PASSWORD)]) expect(written).not.toContain(text)
  written = ''
})

describe('a connection string', () => {
  it.each([
    ['serve', '--check', '--inbox'],
    ['work', '--inbox'],
    ['inbox', 'stats', '--inbox'],
  ])('with a password is refused on the command line: %s', async (...command) => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
    for (const text of [SECRET_URL, `postgresql://h/db?password=${encodeURIComponent(PASSWORD)}`]) {
      const { code, stderr } = await run([...command, text], { cwd })
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining('does not belong on the command line'),
      })
    }
  })

  it.each([
    [
      { env: 'DATABASE_URL' },
      /inbox\.postgres\.connectionString: the environment variable DATABASE_URL is not set/,
    ],
    [{ file: 'not-there' }, /inbox\.postgres\.connectionString: cannot read the secret file/],
    [{ text: SECRET_URL }, /inbox\.postgres\.connectionString: write the connection string/],
    [17, /inbox\.postgres: connectionString is number: write \{ env/],
    ['', /inbox\.postgres: connectionString is string: write \{ env/],
  ])('that cannot be read is a configuration error: %j', async (connectionString, message) => {
    const inbox = JSON.stringify({ postgres: { connectionString } })
    const cwd = await sandbox.directory({
      'countersign.config.mjs': `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], inbox: ${inbox} }`,
    })
    const { code, stderr } = await run(['serve', '--check'], { cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })

  it.each([
    [{ postgres: { connectionString: SECRET_URL, scheme: 'x' } }, /Did you mean "schema"/],
    [{ postgres: { connectionString: SECRET_URL }, file: 'a.db' }, /inbox has no option "file"/],
    [{ postgres: { connectionString: SECRET_URL, schema: 'pg_x' } }, /schema is "pg_x"/],
  ])('stands beside options that are checked: %#', async (inbox, message) => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], inbox: ${JSON.stringify(inbox)} }`,
    })
    const { code, stderr } = await run(['serve', '--check'], { cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) })
  })

  it('with several hosts is refused with what to do, wherever it is given', async () => {
    const hosts = 'postgres://one:5432,two:5432/accounts?target_session_attrs=read-write'
    const stderr = expect.stringMatching(
      /a URL with several hosts: this is not supported\. Name one address that leads/,
    )
    const cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
    const env = { DATABASE_URL: hosts.replace('//', `//app:${encodeURIComponent(PASSWORD)}@`) }
    expect(await run(['serve', '--check'], { cwd, env })).toMatchObject({ code: 2, stderr })
    expect(await run(['inbox', 'stats'], { cwd, env })).toMatchObject({ code: 2, stderr })
    expect(await run(['inbox', 'stats', '--inbox', hosts], { cwd })).toMatchObject({ code: 2, stderr })
    expect(await run(['serve', '--check', '--inbox', hosts], { cwd })).toMatchObject({ code: 2, stderr })
  })

  it('is in no message when the server cannot be reached', async () => {
    const cwd = await sandbox.directory({ 'countersign.config.mjs': CONFIG })
    const env = { DATABASE_URL: SECRET_URL }
    const unreachable = expect.stringMatching(/cannot be reached/)
    expect(await run(['serve', '--check'], { cwd, env })).toMatchObject({ code: 1, stderr: unreachable })
    expect(await run(['inbox', 'stats'], { cwd, env })).toMatchObject({ code: 1, stderr: unreachable })
    expect(await run(['rotate', '--status'], { cwd, env })).toMatchObject({ code: 1, stderr: unreachable })
    expect(await run(['serve', '--port', '0'], { cwd, env })).toMatchObject({ code: 1, stderr: unreachable })
    expect(await run(['work'], { cwd, env })).toMatchObject({ code: 1, stderr: unreachable })
  })

  it('is in no line of the log of a handler that logs it', async () => {
    const cwd = await sandbox.directory({
      'countersign.config.mjs': `
      console.log = () => {}
      export default {
        subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
        inbox: { postgres: { connectionString: { env: 'DATABASE_URL' } } },
        handlers: () => { throw new Error('cannot use ' + process.env.DATABASE_URL) },
      }`,
    })
    const { code, stderr } = await run(['serve', '--check'], { cwd, env: { DATABASE_URL: SECRET_URL } })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/the handlers function threw/),
    })
  })
})
