import { join } from 'node:path'
import { randomBytes, randomUUID } from 'node:crypto'
import { PostgresInbox } from '../../support/whole-inbox.js'
import { signedCallback, type SignedCallback } from '../../../src/testing/signed-callback.js'
import { itWhere } from '../../support/it-where.js'
import { hasPostgres, PostgresServer } from '../../support/postgres-server.js'
import { runInboxReceiver, type RunningInboxReceiver } from '../../support/running-inbox-receiver.js'
import { subscription } from '../../support/subscription.js'
import { canMakeDisks, SmallDisk } from '../../support/small-disk.js'
import { nextLook } from '../../support/until.js'

const itWithDisks = itWhere(hasPostgres && canMakeDisks, 'PostgreSQL, and root to mount a small disk')

/** A callback of 20 KB that cannot be compressed. */
function largeCallback(): SignedCallback {
  const payload = { Id: randomUUID(), Reference: randomBytes(15_000).toString('base64') }
  return signedCallback({ subscription, payload })
}

async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await isTrue()); looks++) await nextLook(looks)
}

describe('a receiver whose PostgreSQL server has no disk space left', () => {
  let disk: SmallDisk
  let server: PostgresServer | undefined
  afterEach(async () => {
    await server?.stop()
    server = undefined
    disk?.remove()
  })

  /** Sends callbacks until one is refused, and three more. Every answer is 200, or 503 with Retry-After. */
  async function fillUp(receiver: RunningInboxReceiver) {
    const acknowledged: SignedCallback[] = []
    const refused: SignedCallback[] = []
    while (refused.length < 4) {
      const callback = largeCallback()
      const { status, headers } = await receiver.send(callback)
      expect([200, 503]).toContain(status)
      if (status === 503) expect(headers['retry-after']).toMatch(/^\d+$/)
      ;(status === 200 ? acknowledged : refused).push(callback)
    }
    return { acknowledged, refused }
  }

  /** The sender repeats what was refused. Then each callback is stored and handled once. */
  async function recovers(
    receiver: RunningInboxReceiver,
    { acknowledged, refused }: Awaited<ReturnType<typeof fillUp>>,
  ): Promise<void> {
    for (const callback of refused)
      await eventually(async () => (await receiver.send(callback)).status === 200)
    const keys = new Set([...acknowledged, ...refused].map(({ headers }) => headers['X-Idempotency-Key']))
    await eventually(async () => (await receiver.entries({ states: ['handled'] })).length === keys.size)
    for (const found of [await receiver.entries(), receiver.handled]) {
      expect(found).toHaveLength(keys.size)
      expect(new Set(found.map(({ idempotencyKey }) => idempotencyKey))).toEqual(keys)
    }
  }

  async function run(connectionString: string): Promise<RunningInboxReceiver> {
    const inbox = new PostgresInbox({ connectionString, logger: false })
    return runInboxReceiver({ inbox, leaseMs: 3_000, handlerTimeoutMs: 1_000 })
  }

  itWithDisks(
    'for its tables answers 503 and goes on without a restart once there is some',
    async () => {
      disk = new SmallDisk(24)
      server = await PostgresServer.start()
      const tables = join(disk.folder, 'tables')
      server.makeFolder(tables)
      await server.query(`CREATE TABLESPACE small LOCATION '${tables}'`)
      await server.query('CREATE DATABASE small TABLESPACE small')
      const receiver = await run(server.connectionString('small'))
      disk.fill(400_000)
      const sent = await fillUp(receiver)
      expect(receiver.log.text()).toMatch(
        /ERR_INBOX_FULL.*has no disk space or memory left.*a running process needs no restart/s,
      )
      disk.free()
      await recovers(receiver, sent)
    },
    90_000,
  )

  itWithDisks(
    'for its tables and its log answers 503, and goes on when the server does',
    async () => {
      disk = new SmallDisk(120)
      server = await PostgresServer.start(['min_wal_size = 32MB', 'max_wal_size = 32MB'], disk.folder)
      const receiver = await run(await server.createDatabase())
      disk.fill(1_000_000)
      const sent = await fillUp(receiver)
      disk.free()
      // Without space for its log the server recovers, or ends, according to when it has space again.
      let hasEnded = false
      void server.ended.then(() => (hasEnded = true))
      const answers = () =>
        server!.query('SELECT 1').then(
          () => true,
          () => false,
        )
      await eventually(async () => hasEnded || (await answers()))
      if (hasEnded) await server.restart()
      await recovers(receiver, sent)
    },
    90_000,
  )
})
