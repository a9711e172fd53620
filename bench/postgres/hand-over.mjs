// One process that verifies callbacks, stores their bytes in PostgreSQL, answers, and handles them afterwards. The arguments
// name the kind and the database.
import { createServer } from 'node:http'
import express from 'express'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import PgBoss from 'pg-boss'
import { createReceiver } from 'countersign'
import { PostgresInbox } from 'countersign/postgres'
import { verifyCallback } from 'countersign/signature'
import { path, subscription } from '../receiver/requests.mjs'

const QUEUE = 'callbacks'
const CONCURRENCY = 64
/** The default of PostgresInbox. */
const CONNECTIONS = 14

const [kind, connectionString] = process.argv.slice(2)
let handled = 0
const handle = () => void handled++
process.on('SIGTERM', () => process.exit())

const kinds = {
  async countersign() {
    const inbox = new PostgresInbox({ connectionString, logger: false })
    const receiver = createReceiver({
      subscriptions: [subscription],
      inbox,
      concurrency: CONCURRENCY,
      logger: false,
    })
    receiver.on(subscription.eventTypeName, handle)
    await receiver.start()
    const app = express()
    app.post(path, receiver.middleware())
    return app
  },

  // The id of a job is its idempotency key: a repeat is not inserted as long as the job is kept.
  async 'pg-boss'() {
    const boss = await new PgBoss({ connectionString, max: CONNECTIONS }).start()
    await boss.createQueue(QUEUE)
    // A worker fetches at most one batch in half a second, so the batches are large.
    const options = { batchSize: 1_000, pollingIntervalSeconds: 0.5 }
    for (let worker = 0; worker < 4; worker++) {
      await boss.work(QUEUE, options, async (jobs) => jobs.forEach(({ data }) => handle(bytesOf(data))))
    }
    return storing((job, id) => boss.send(QUEUE, job, { id }))
  },

  // A repeat is recognised until the job has been handled: handled jobs are deleted, with their keys.
  async 'graphile-worker'() {
    // It writes a line for each job by default.
    const logger = new Logger(() => () => {})
    const options = { connectionString, maxPoolSize: CONNECTIONS, logger }
    const utils = await makeWorkerUtils(options)
    await utils.migrate()
    await run({
      ...options,
      noHandleSignals: true,
      taskList: { [QUEUE]: async (job) => handle(bytesOf(job)) },
      preset: {
        worker: {
          concurrentJobs: CONNECTIONS,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    })
    return storing((job, jobKey) => utils.addJob(QUEUE, job, { jobKey }))
  },
}

/** An application that verifies each callback and has it stored as a job with the bytes of its body. */
function storing(store) {
  const { callbackUrl, secret } = subscription
  const app = express()
  app.post(path, express.raw({ type: () => true }), (request, response, next) => {
    const { headers, body } = request
    const { authorization, 'authorization-timestamp': timestamp } = headers
    const verdict = verifyCallback({ callbackUrl, secret, timestamp, authorization, body })
    if (!verdict.valid) return response.sendStatus(401)
    const job = { type: headers['x-event-type'], body: body.toString('base64') }
    store(job, headers['x-idempotency-key']).then(() => response.sendStatus(200), next)
  })
  return app
}

function bytesOf(job) {
  return Buffer.from(job.body, 'base64')
}

const server = createServer(await kinds[kind]())
server.listen(0, '127.0.0.1', () => process.send(server.address()))
process.on('message', () => process.send({ handled }))
