import { execFileSync } from 'node:child_process'
import { chownSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresInbox } from '../../support/whole-inbox.js'
import { describeWithPostgres, PostgresServer, QUICK_SETTINGS } from '../../support/postgres-server.js'
import { findProgram, temporaryFolder } from '../../support/server-program.js'
import { nextLook } from '../../support/until.js'

const openssl = findProgram('openssl')
if (!openssl)
  process.stderr.write('tests of TLS to PostgreSQL are skipped; to install it: apt-get install openssl\n')
const describeWithTls = openssl ? describeWithPostgres : describe.skip

const KEY = 'key.pem'

describeWithTls('TLS to the server', () => {
  let server: PostgresServer
  let certificate: string
  let database: string

  beforeAll(async () => {
    const folder = temporaryFolder()
    server = await PostgresServer.start(QUICK_SETTINGS, folder)
    certificate = makeCertificate(folder)
    server.configure([
      'ssl = on',
      `ssl_cert_file = '${certificate}'`,
      `ssl_key_file = '${join(folder, KEY)}'`,
    ])
    await server.stop()
    await server.restart()
    database = await server.createDatabase()
  })
  afterAll(() => server.remove())

  it('is used by every connection of the inbox if the connection string asks for it', async () => {
    const connectionString = `${database}?sslmode=verify-full&sslrootcert=${certificate}`
    const inbox = new PostgresInbox({ connectionString, logger: false })
    const watch = inbox.watch(() => {})
    try {
      await inbox.stats()
      // Of the pool, for leases and for notifications.
      const encrypted = await connectionsOf(database, 3)
      expect(encrypted).toEqual([true, true, true])
    } finally {
      watch()
      await inbox.close()
    }
  })

  /** Waits for so many connections, and returns for each whether it uses TLS. */
  async function connectionsOf(database: string, count: number): Promise<boolean[]> {
    const sql = 'SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = $1'
    for (let looks = 0; ; looks++) {
      const { rows } = await server.query(sql, [new URL(database).pathname.slice(1)])
      if (rows.length >= count) return rows.map(({ ssl }) => ssl)
      await nextLook(looks)
    }
  }

  it.each([
    ['of an authority that is not trusted', (): string => `${database}?sslmode=verify-full`],
    [
      'for another host',
      (): string =>
        `${database.replace('127.0.0.1', 'localhost')}?sslmode=verify-full&sslrootcert=${certificate}`,
    ],
  ])('is refused if the certificate is %s', async (_what, connectionString) => {
    const inbox = new PostgresInbox({ connectionString: connectionString(), logger: false })
    const error = await inbox.stats().catch((reason: unknown) => reason)
    await inbox.close()
    expect(error).toMatchObject({
      code: 'ERR_INBOX_UNREACHABLE',
      message: expect.stringContaining('Name the certificate of its authority as sslrootcert'),
    })
  })
})

/** One for 127.0.0.1 that is its own authority. Its key belongs to the user of the server, which PostgreSQL checks. */
function makeCertificate(folder: string): string {
  const [key, certificate] = [join(folder, KEY), join(folder, 'certificate.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync(openssl!, ['req', ...kind, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  const { uid, gid } = statSync(folder)
  chownSync(key, uid, gid)
  return certificate
}
