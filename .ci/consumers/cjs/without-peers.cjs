// What works in a project without pg, redis and bullmq, and what is said about what does not.
const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const { createReceiver } = require('countersign')
const { PostgresInbox } = require('countersign/postgres')
const { SqliteInbox } = require('countersign/sqlite')

for (const peer of ['pg', 'redis', 'ioredis', 'bullmq'])
  assert.throws(() => require.resolve(peer), `${peer} is installed`)

const DATABASE = 'postgres://app@127.0.0.1:1/app'

async function main() {
  const subscriptions = [
    {
      eventTypeName: 'a.b',
      callbackUrl: 'https://partner.example.com/',
      secret: 'the secret text of a consumer',
    },
  ]
  const receiver = createReceiver({ subscriptions, inbox: new SqliteInbox({ file: 'callbacks.db' }) })
  await receiver.start()
  await receiver.stop()
  assert.equal(countersign({}).status, 0)

  const inbox = new PostgresInbox({ connectionString: DATABASE, logger: false })
  await assert.rejects(inbox.open(), /npm install pg/)
  const { status, stderr } = countersign({ COUNTERSIGN_INBOX: DATABASE })
  assert.equal(status, 1, stderr)
  assert.match(stderr, /npm install pg/)
}

function countersign(env) {
  const command = ['--no-install', 'countersign', 'inbox', 'stats']
  return spawnSync('npx', command, { env: { ...process.env, ...env }, encoding: 'utf8' })
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
