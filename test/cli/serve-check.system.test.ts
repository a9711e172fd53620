import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { itBeside } from '../support/it-beside.js'
import { itWhere } from '../support/it-where.js'
import { SUBSCRIPTION } from './configured.js'
import { countersign, countersignProcess, Sandbox } from './program.js'
import {
  check,
  type Checked,
  checked,
  json,
  JSON_FILE,
  MJS_FILE,
  PUBLIC,
  sandbox,
  secret,
} from './check-config.js'

describe('serve --check', () => {
  it('explains a configuration without its secrets and without the queries of its URLs', async () => {
    const { code, stdout, stderr } = await check(json({ port: 1234 }))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^listen on 127\.0\.0\.1 port 1234/m)
    expect(stdout).toMatch(
      /^ {2}transfers\.book-completed {2}https:\/\/partner\.example\.com\/hooks\/transfers {2}1 secret/m,
    )
    expect(stdout).not.toContain(secret)
    expect(stdout).not.toContain('query-token')
  })

  it('says so in JSON, without them either', async () => {
    const { stdout } = await check(json({}), ['--json'])
    expect((JSON.parse(stdout) as Checked).subscriptions).toEqual([
      {
        eventTypeName: PUBLIC.eventTypeName,
        callbackUrl: 'https://partner.example.com/hooks/transfers',
        secrets: 1,
        handled: false,
      },
    ])
    expect(stdout).not.toContain(secret)
    expect(stdout).not.toContain('query-token')
  })

  it('lists what there are handlers for, and warns where there are none', async () => {
    const subscriptions = `[${JSON.stringify(SUBSCRIPTION)}, { ...${JSON.stringify(PUBLIC)}, eventTypeName: 'other', secret: 'unlike-the-other-secret' }]`
    const config = `export default { port: 0, subscriptions: ${subscriptions}, handlers: { other: () => {} } }`
    const { stdout } = await check({ [MJS_FILE]: config }, ['--json'])
    const { handlers, subscriptions: found, warnings } = JSON.parse(stdout) as Checked
    expect(handlers).toEqual({ types: ['other'], any: false, unhandled: false })
    expect(found.map(({ handled }) => handled)).toEqual([false, true])
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'WARN_HANDLER_MISSING', eventTypeName: PUBLIC.eventTypeName }),
    ])
  })

  it('warns when there is neither a handler nor an inbox', async () => {
    const subscriptions = [SUBSCRIPTION]
    const warning = expect.objectContaining({ code: 'WARN_HANDLER_MISSING' })
    expect((await checked({ port: 0, subscriptions, inbox: false })).warnings).toContainEqual(warning)
    expect((await checked({ port: 0, subscriptions })).warnings).not.toContainEqual(warning)
  })

  it('passes on what the receiver warns of', async () => {
    const subscriptions = [{ ...SUBSCRIPTION, secret: Buffer.from('a secret text').toString('base64') }]
    const { warnings } = await checked({ subscriptions })
    expect(warnings.map(({ code }) => code)).toContain('WARN_SECRET_LOOKS_LIKE_BASE64')
  })

  it('says in JSON what is wrong', async () => {
    const { code, stdout } = await check(json({ leaseMs: 0 }), ['--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      code: 'ERR_OPTION_INVALID',
      message: expect.stringContaining('leaseMs is 0'),
    })
  })

  it('does not go on listening', async () => {
    const files = {
      [MJS_FILE]: `setInterval(() => {}, 1_000); export default { port: 0, subscriptions: [${JSON.stringify(SUBSCRIPTION)}] }`,
    }
    const cwd = await sandbox.directory(files)
    expect((await countersignProcess(['serve', '--check'], { cwd })).code).toBe(0)
  })
})

describe('serve --check tries what serve needs', () => {
  /** Nothing of this is said to be valid, nor does serve start with it. */
  async function expectRefused(cwd: string, message: string, expectedCode = 2): Promise<void> {
    const { code, stdout, stderr } = await countersign(['serve', '--check'], { cwd })
    expect({ code, stdout, stderr }).toEqual({
      code: expectedCode,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
    const asJson = await countersign(['serve', '--check', '--json'], { cwd })
    expect(asJson.code).toBe(expectedCode)
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      valid: false,
      message: expect.stringContaining(message),
    })
    expect((await countersign(['serve'], { cwd })).code).toBe(expectedCode)
  }

  const configured = (config: object) => sandbox.directory(json({ port: 0, ...config }))

  it('the directory of the inbox, which leaves nothing behind', async () => {
    await expectRefused(await configured({ inbox: 'none/callbacks.db' }), 'cannot be opened, read or written')
    const cwd = await configured({})
    expect((await countersign(['serve', '--check'], { cwd })).code).toBe(0)
    expect(await readdir(cwd)).toEqual([JSON_FILE])
  })

  it('the inbox, which may be no inbox', async () => {
    const cwd = await configured({})
    await writeFile(join(cwd, 'callbacks.db'), 'no database, but a text that is long enough. '.repeat(100))
    await expectRefused(cwd, 'is damaged, or not a file of SQLite')
    await rm(join(cwd, 'callbacks.db'))
    await mkdir(join(cwd, 'callbacks.db'))
    await expectRefused(cwd, 'is not a file: name the file of the inbox')
  })

  itWhere(existsSync('/proc/self'), 'the file system /proc')(
    'a device of a file system that takes no files',
    async () => {
      await expectRefused(await configured({ inbox: '/proc/callbacks.db' }), '/proc/callbacks.db')
    },
  )

  it('the inbox, whose bytes stay as they were', async () => {
    const cwd = await configured({})
    const file = join(cwd, 'callbacks.db')
    const inbox = new SqliteInbox({ file })
    await inbox.open()
    await inbox.close()
    // SQLite may leave the two files that it keeps beside an inbox.
    const look = async () => [
      await readFile(file),
      (await readdir(cwd)).filter((name) => !/-(?:wal|shm)$/.test(name)),
    ]
    const before = await look()
    expect((await countersign(['serve', '--check'], { cwd })).code).toBe(0)
    expect(await look()).toEqual(before)
  })

  it.each(['192.0.2.1', 'no-such-host.invalid'])(
    'the host, which may not be this machine: %s',
    async (host) => {
      await expectRefused(await configured({ host }), `cannot listen on ${host} port 0`, 1)
    },
  )

  /** A configuration whose port belongs to another program. */
  const besideProgram = async (box: Sandbox, program: Server) => {
    box.after(async () => void program.close())
    await once(program.listen(0, '127.0.0.1'), 'listening')
    return box.directory(json({ port: (program.address() as AddressInfo).port }))
  }

  it('the port, where another program may listen', async () => {
    const cwd = await besideProgram(
      sandbox,
      createServer((socket) => socket.destroy()),
    )
    await expectRefused(cwd, 'another program listens there', 1)
  })

  it('the port, where a receiver that is to be replaced is only warned of', async () => {
    const serve = sandbox.serve([], { cwd: await configured({}) })
    const cwd = await configured({ port: await serve.port(), handlers: undefined })
    const { code, stdout } = await countersign(['serve', '--check'], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('WARN_ADDRESS_IN_USE') })
  })

  it('everything, and says all that is wrong', async () => {
    const cwd = await configured({ host: '192.0.2.1', inbox: 'none/callbacks.db' })
    const { code, stderr } = await countersign(['serve', '--check'], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/cannot listen on [^]*none\/callbacks\.db/),
    })
  })

  // The program is given a second to answer.
  itBeside('the port, where another program may listen and say nothing', async () => {
    const box = new Sandbox()
    try {
      const cwd = await besideProgram(box, createServer())
      expect(await countersign(['serve', '--check'], { cwd })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('another program listens there'),
      })
    } finally {
      await box.clean()
    }
  })
})

describe('serve --check --strict', () => {
  const handlers = (types: string) =>
    `export default { subscriptions: [${JSON.stringify(SUBSCRIPTION)}], port: 0, inbox: false, handlers: { ${types} } }`

  it('makes warnings failures', async () => {
    const files = {
      [MJS_FILE]: handlers(`'transfers.book-complete': () => {}, '${PUBLIC.eventTypeName}': () => {}`),
    }
    expect((await check(files)).code).toBe(0)
    const { code, stdout } = await check(files, ['--strict'])
    expect(code).toBe(2)
    expect(stdout).toContain('not valid, as --strict makes warnings failures')
    expect(stdout).toMatch(/WARN_HANDLER_UNREACHABLE[^]*did\s+you\s+mean\s+transfers\.book-completed/)
    const asJson = JSON.parse((await check(files, ['--strict', '--json'])).stdout) as Checked
    expect(asJson).toMatchObject({ valid: false, warnings: [{ code: 'WARN_HANDLER_UNREACHABLE' }] })
  })

  it('ends with 0 without a warning', async () => {
    const files = { [MJS_FILE]: handlers(`'${PUBLIC.eventTypeName}': () => {}`) }
    expect((await check(files, ['--strict'])).code).toBe(0)
  })

  it('needs --check', async () => {
    const { code, stderr } = await countersign(['serve', '--strict'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('--strict needs --check'),
    })
  })
})
