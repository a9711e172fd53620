import { join } from 'node:path'
import { SqliteInbox } from '../support/whole-inbox.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { startProgram, untilPrinted } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { genuine } from '../support/running-receiver.js'
import { temporaryDirectory } from '../support/sqlite-file.js'

const PROGRAM = `
  const inbox = new SqliteInbox({ file })
  const roles = {
    async receiver() {
      const receiver = createReceiver({ subscriptions: [subscription], inbox })
      await receiver.start()
      const server = http.createServer(receiver.requestListener()).listen(0, '127.0.0.1')
      await once(server, 'listening')
      print(server.address().port)
      return async () => {
        server.close()
        await receiver.stop()
      }
    },
    async worker() {
      const worker = createWorker({ inbox, pollMs: 20 })
      worker.on(subscription.eventTypeName, ({ payload }) => print('handled ' + payload.Id))
      await worker.start()
      return () => worker.stop()
    },
  }
  const stop = await roles[process.argv[3]]()
  print('started')
  await once(process.stdin.resume(), 'end')
  await stop()
`

it('a process that only receives stores what a process that only works handles, once', async () => {
  const directory = temporaryDirectory()
  const file = join(directory, 'callbacks.db')
  const program = buildInboxProgram(directory, PROGRAM)
  const [receiver, worker] = ['receiver', 'worker'].map((role) =>
    startProgram(process.execPath, [program, file, role]),
  ) as [ReturnType<typeof startProgram>, ReturnType<typeof startProgram>]
  await untilPrinted([receiver, worker], () =>
    [receiver, worker].every(({ lines }) => lines.includes('started')),
  )
  const port = Number(receiver.lines[0])
  const ids = Array.from({ length: 10 }, (_, index) => String(index))
  for (const Id of ids) {
    const callback = genuine({ payload: { Id } }).toHttp()
    for (let copy = 0; copy < 2; copy++)
      expect(await sendRawRequest(callback, { port })).toMatchObject({ status: 200 })
  }
  const handled = () => worker.lines.filter((line) => line.startsWith('handled'))
  await untilPrinted([receiver, worker], () => handled().length >= ids.length)
  for (const { child, ended } of [receiver, worker]) {
    child.stdin.end()
    await ended
  }
  expect(handled().sort()).toEqual(ids.map((id) => `handled ${id}`))
  expect(receiver.lines).toHaveLength(2)
  const inbox = new SqliteInbox({ file })
  await inbox.open()
  expect(await inbox.stats()).toMatchObject({ counts: { handled: ids.length, stored: 0, unhandled: 0 } })
  await inbox.close()
}, 60_000)
