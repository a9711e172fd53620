import { sendHttp1 } from '../../src/diagnosis/doctor/exchange.js'
import { createProbe } from '../../src/diagnosis/doctor/probe.js'
import { serve } from '../support/hosts.js'
import { SECRET, subscription } from '../support/subscription.js'

const { eventTypeName } = subscription
const probe = createProbe({ secret: SECRET, eventTypeName, sentAtMs: Date.now() })

it('takes a 101 that was not asked for as an answer', async () => {
  const port = await serve(({ socket }) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  )
  const exchange = await sendHttp1(new URL(`http://127.0.0.1:${port}/`), probe, { timeoutMs: 5_000 })
  expect(exchange).toMatchObject({ answer: { status: 101, text: '' } })
})
