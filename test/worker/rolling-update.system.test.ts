import { join } from 'node:path'
import { startProgram, untilPrinted } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { temporaryDirectory } from '../support/sqlite-file.js'

/** Takes in what it is told on its standard input, one number a line, and prints what its handler is given. */
const RECEIVER = `
  const hasHandler = process.argv[3] === 'with'
  const receiver = createReceiver({
    subscriptions: [subscription],
    inbox: new SqliteInbox({ file }),
    orderBy: () => 'account 1',
    pollMs: 20,
  })
  receiver.on('another.type', () => {})
  if (hasHandler) receiver.on(subscription.eventTypeName, ({ payload }) => print('handled ' + payload.entry))
  await receiver.start()
  const server = http.createServer(receiver.requestListener()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  print('listening')
  for await (const line of createInterface(process.stdin)) {
    const { path, headers, body } = signedCallback({ subscription, payload: { entry: Number(line) } })
    const { status } = await fetch('http://127.0.0.1:' + server.address().port + path, { method: 'POST', headers, body })
    print('answered ' + line + ' ' + status)
  }
  server.close()
  await receiver.stop()
`

it('events of one order key are handled in order although an old process without their handler stores some of them', async () => {
  const directory = temporaryDirectory()
  const program = buildInboxProgram(directory, RECEIVER)
  const [before, after] = (['without', 'with'] as const).map((which) =>
    startProgram(process.execPath, [program, join(directory, 'callbacks.db'), which]),
  )
  const both = [before!, after!]
  await untilPrinted(both, () => both.every(({ lines }) => lines.includes('listening')))
  for (let entry = 1; entry <= 20; entry++) {
    const { child, lines } = both[(entry + 1) % 2]!
    child.stdin.write(`${entry}\n`)
    await untilPrinted(both, () => lines.includes(`answered ${entry} 200`))
  }
  const handled = () => after!.lines.filter((line) => line.startsWith('handled'))
  await untilPrinted(both, () => handled().length === 20)
  expect(handled()).toEqual(Array.from({ length: 20 }, (_, index) => `handled ${index + 1}`))
  for (const { child, ended } of both) {
    child.stdin.end()
    await ended
  }
}, 60_000)
