import { existsSync } from 'node:fs'
import { chmod, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expectHarmless, startFakeService, withoutSecrets } from './fake-service.js'
import { countersign } from './program.js'
import { FILE, KEY, sandbox, sentSecret, subscribe, TO, URL } from './run-subscribe.js'

describe('countersign subscribe', () => {
  it('does not ask with --existing-secret to add the entry that the configuration has', async () => {
    const service = await startFakeService(sandbox)
    const config = (secret: object) =>
      JSON.stringify({
        subscriptions: [{ eventTypeName: 'transfers.book-completed', callbackUrl: URL, secret }],
      })
    const files = { 'a.secret': 'a-secret-of-the-tests', 'b.secret': 'another-secret-of-the-tests' }
    const there = { ...files, 'countersign.config.json': config({ file: 'a.secret' }) }
    const ran = await subscribe(service, [...FILE, '--existing-secret'], there)
    expect(ran).toMatchObject({ code: 0, stdout: '' })
    expect(ran.stderr).toContain('The configuration already has this subscription')
    expect(ran.stderr).not.toContain('Add this entry')

    const missing = { ...files, 'countersign.config.json': config({ file: 'b.secret' }) }
    const other = await subscribe(service, [...FILE, '--existing-secret'], missing)
    expect(other.stdout).toContain("secret: { file: 'a.secret' }")
    expect(other.stderr).toContain('Add this entry')
  })

  it('keeps a new secret in a file that only its owner may read, and sends the same', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--description', 'it'], {})
    expect(ran.code).toBe(0)
    const secret = await ran.read('a.secret')
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(sentSecret(service)).toBe(secret)
    expect((await stat(join(ran.cwd, 'a.secret'))).mode & 0o777).toBe(0o600)
    expect(JSON.parse(service.calls()[0]!.body)).toMatchObject({
      eventTypeName: 'transfers.book-completed',
      callbackUrl: URL,
      description: 'it',
    })
    withoutSecrets(ran, secret)
  })

  it('prints an entry that the configuration takes, and nothing else, to standard output', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--description', `it's "it" \u202e`])
    await writeFile(
      join(ran.cwd, 'countersign.config.mjs'),
      `export default { subscriptions: [${ran.stdout}] }`,
    )
    const { stdout, code } = await countersign(['serve', '--check', '--json'], { cwd: ran.cwd })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ subscriptions: [{ callbackUrl: URL, secrets: 1 }] })
    expect(ran.stdout).toContain(`secret: { file: 'a.secret' }`)
    expectHarmless(ran)
  })

  it('prints an entry for a configuration in JSON', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--json', '--key', KEY])
    const report = JSON.parse(ran.stdout) as { entry: object }
    expect(report).toMatchObject({
      created: true,
      status: 201,
      body: { id: 'one' },
      idempotencyKey: KEY,
      entry: { eventTypeName: 'transfers.book-completed', callbackUrl: URL, secret: { file: 'a.secret' } },
    })
    await writeFile(
      join(ran.cwd, 'countersign.config.json'),
      JSON.stringify({ subscriptions: [report.entry] }),
    )
    expect((await countersign(['serve', '--check'], { cwd: ran.cwd })).code).toBe(0)
    withoutSecrets(ran, await ran.read('a.secret'))
    expect(service.calls()[0]!.headers['x-idempotency-key']).toBe(KEY)
  })

  it('prints the secret only with --show-secret', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--show-secret'])
    expect(ran.stderr).toContain(sentSecret(service))
  })

  it.each([
    ['as it stands', 's3cret'.repeat(4)],
    ['without the line end of an editor', `${'s3cret'.repeat(4)}\n`],
  ])('takes an existing secret %s', async (_, content) => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, [...FILE, '--existing-secret'], { 'a.secret': content })
    expect(ran.code).toBe(0)
    expect(sentSecret(service)).toBe('s3cret'.repeat(4))
    expect(await ran.read('a.secret')).toBe(content)
    withoutSecrets(ran, 's3cret'.repeat(4))
  })

  it('sends nothing with --prepare, and the kept secret afterwards', async () => {
    const service = await startFakeService(sandbox)
    const prepared = await subscribe({ env: {} }, [...FILE, '--prepare'])
    expect(prepared).toMatchObject({ code: 0, stdout: expect.stringContaining('a.secret') })
    expect(service.requests).toEqual([])
    const { cwd } = prepared
    await countersign(['subscribe', ...TO, ...FILE, '--existing-secret'], { cwd, env: service.env })
    expect(sentSecret(service)).toBe(await prepared.read('a.secret'))
  })
})

describe('a secret in a file', () => {
  it('is never overwritten, and then nothing is sent', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, FILE, { 'a.secret': 'precious' })
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is not overwritten') })
    expect(await ran.read('a.secret')).toBe('precious')
    expect(service.requests).toEqual([])
  })

  it('is not written through a link', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory({})
    await symlink(join(cwd, 'elsewhere'), join(cwd, 'a.secret'))
    expect((await countersign(['subscribe', ...TO, ...FILE], { cwd, env: service.env })).code).toBe(2)
    expect(existsSync(join(cwd, 'elsewhere'))).toBe(false)
  })

  it('must be possible before anything is sent', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, ['--secret-file', 'no/such/folder/a.secret'])
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOENT') })
    expect(service.requests).toEqual([])
  })

  it('is on the disk before anything is sent', async () => {
    const cwd = await sandbox.directory({})
    const there: boolean[] = []
    const { env } = await startFakeService(sandbox, () => {
      there.push(existsSync(join(cwd, 'a.secret')))
      return { status: 201 }
    })
    await countersign(['subscribe', ...TO, ...FILE], { cwd, env })
    expect(there).toEqual([true])
  })
})

describe('a secret in an env file', () => {
  const ENV = ['--secret-env', 'TRANSFERS_SECRET']

  it('is a new line of a new file that only its owner may read', async () => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, ENV)
    expect(ran).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`secret: { env: 'TRANSFERS_SECRET' }`),
    })
    expect(await ran.read('.env')).toBe(`TRANSFERS_SECRET=${sentSecret(service)}\n`)
    expect((await stat(join(ran.cwd, '.env'))).mode & 0o777).toBe(0o600)
    withoutSecrets(ran, sentSecret(service))
  })

  it.each(['A=1\n', 'A=1', '# a comment\n\nA="1"\nB=2'])(
    'leaves the lines that are there: %j',
    async (before) => {
      const service = await startFakeService(sandbox)
      const ran = await subscribe(service, ENV, { '.env': before })
      expect(await ran.read('.env')).toBe(
        `${before}${before.endsWith('\n') ? '' : '\n'}TRANSFERS_SECRET=${sentSecret(service)}\n`,
      )
    },
  )

  it('is what serve then reads', async () => {
    const service = await startFakeService(sandbox)
    const { cwd, stdout } = await subscribe(service, [...ENV, '--append-to', 'secrets.env'])
    await writeFile(join(cwd, 'countersign.config.mjs'), `export default { subscriptions: [${stdout}] }`)
    const args = ['serve', '--check', '--env', 'secrets.env']
    expect((await countersign(args, { cwd })).code).toBe(0)
  })

  it('is used with --existing-secret', async () => {
    const service = await startFakeService(sandbox)
    const files = { '.env': 'TRANSFERS_SECRET=the-one-that-is-there\n' }
    const ran = await subscribe(service, [...ENV, '--existing-secret'], files)
    expect(ran.code).toBe(0)
    expect(sentSecret(service)).toBe('the-one-that-is-there')
    expect(await ran.read('.env')).toBe(files['.env'])
  })

  it.each([
    ['a name that is there', 'TRANSFERS_SECRET=precious\n', 'is not overwritten'],
    ['a name that is there, exported', 'export TRANSFERS_SECRET=precious\n', 'is not overwritten'],
    ['a name after a byte order mark', '\uFEFFTRANSFERS_SECRET=precious\n', 'is not overwritten'],
  ])('is refused for %s, and nothing is sent', async (_, before, message) => {
    const service = await startFakeService(sandbox)
    const ran = await subscribe(service, ENV, { '.env': before })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
    expect(await ran.read('.env')).toBe(before)
    expect(service.requests).toEqual([])
  })

  it('is refused where others may read the file', async () => {
    const service = await startFakeService(sandbox)
    const cwd = await sandbox.directory({ '.env': 'A=1\n' })
    await chmod(join(cwd, '.env'), 0o644)
    const ran = await countersign(['subscribe', ...TO, ...ENV], { cwd, env: service.env })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('"chmod 600 .env" first') })
    expect(service.requests).toEqual([])
  })

  it('is refused where the environment would win over it', async () => {
    const { env } = await startFakeService(sandbox)
    const ran = await subscribe({ env: { ...env, TRANSFERS_SECRET: 'another-secret' } }, ENV)
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('is set in the environment') })
    withoutSecrets(ran, 'another-secret')
    expect(await readdir(ran.cwd)).toEqual([])
  })
})

describe('wrong usage of subscribe', () => {
  it.each([
    [[], 'no place for the secret'],
    [[...FILE, '--secret-env', 'A'], 'cannot be used with'],
    [['--secret-env', 'A-B'], 'Use letters, digits and underscores'],
    [[...FILE, '--key', 'one'], 'Use a UUID'],
    [[...FILE, '--callback-url', 'https://X.example.com'], 'must be spelled "https://x.example.com/"'],
    [[...FILE, '--event-type', ''], 'It must not be empty'],
    [[...FILE, '--event-type', 'a\nb'], 'no HTTP header can carry'],
    [[...FILE, '--event-type', ' a'], 'white space around it'],
    [[...FILE, '--event-type', '€'], 'no HTTP header can carry'],
    [[...FILE, '--event-type', 'a'.repeat(2_000)], 'use at most 1024'],
    [[...FILE, '--prepare', '--event-type', 'a\u0001'], 'no HTTP header can carry'],
    [[...FILE, '--existing-secret'], 'cannot read the secret file'],
    [[...FILE, '--client-id', 'no-uuid'], '--client-id: clientId is'],
  ])('sends nothing, leaves nothing behind and ends with 2: %j', async (args, message) => {
    const service = await startFakeService(sandbox)
    const { code, stdout, stderr, cwd } = await subscribe(service, args)
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
    expect(await readdir(cwd)).toEqual([])
    expect(service.requests).toEqual([])
  })
})
