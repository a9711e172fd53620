import { getMaxListeners } from 'node:events'
import { Dispatcher } from '../../src/handlers/dispatcher.js'
import { createReceiver } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { serve } from '../support/hosts.js'
import { genuine, subscription } from '../support/running-receiver.js'

it('lets any number of running handlers listen for the stop, without a warning of Node that it leaks', async () => {
  const dispatch = jest.spyOn(Dispatcher.prototype, 'dispatch')
  const receiver = createReceiver({ subscriptions: [subscription] }).onAny(() => {})
  const port = await serve(receiver.requestListener())
  expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 200 })

  const [, , stop] = dispatch.mock.calls[0]!
  // The warning itself goes to the process, out of a test's reach.
  expect(getMaxListeners(stop.signal as never)).toBe(Infinity)
})
