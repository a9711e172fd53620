import { connect, createServer } from 'node:net'
import { runReceiver } from '../support/running-receiver.js'
import { freePort } from '../support/server-program.js'
import { CLIENT_SECRET, sandbox, Simulating, subscribe, to } from './simulating.js'

it('simulate --once delivers to the subscription that has replaced the first before the receiver listens', async () => {
  const { port, handled } = await runReceiver()
  const free = await freePort()
  const env = { COUNTERSIGN_CLIENT_SECRET: CLIENT_SECRET }
  const args = ['--once', '--repeated-subscription', 'replace', ...to(free)]
  const simulating = new Simulating(args, { env })
  const { baseUrl, clientId } = await simulating.line(1)
  await subscribe(baseUrl, clientId)
  await subscribe(baseUrl, clientId)
  const late = createServer((socket) => socket.pipe(connect(port, '127.0.0.1')).pipe(socket))
  late.listen(free, '127.0.0.1')
  sandbox.after(async () => void late.close())
  expect(await simulating.exit).toBe(0)
  expect(handled).toHaveLength(1)
})
