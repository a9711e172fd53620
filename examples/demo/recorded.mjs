// Requests that real clients and proxies put on the wire, sent byte for byte.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createReceiver } from 'countersign'
import { loadRecordedRequests, recordedSubscriptions, sendRawRequest } from 'countersign/testing'

const FOLDER = fileURLToPath(new URL('../../fixtures/recorded', import.meta.url))

/** What became of each. */
export async function deliverRecordedRequests() {
  const recorded = await loadRecordedRequests(FOLDER)
  // The recordings are as old as they are: the receiver's clock stands where it stood then.
  let now = Date.now()
  let latest
  const receiver = createReceiver({
    subscriptions: recordedSubscriptions(recorded),
    clock: () => now,
    logger: false,
  })
  receiver.on('transfers.book-completed', () => {})
  receiver.onOutcome((outcome) => (latest = outcome))
  const server = createServer(receiver.requestListener()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await receiver.start()
  try {
    const rows = []
    for (const request of recorded) {
      now = (request.signedAt?.getTime() ?? Date.now()) + 1_000
      const { status } = await sendRawRequest(request.bytes, server.address())
      const right = status === request.expect.status && latest.name === request.expect.outcome
      rows.push({ what: request.name, became: `${status} ${latest.name}`, why: latest.code, right })
    }
    return rows
  } finally {
    await receiver.stop()
    server.close()
  }
}
