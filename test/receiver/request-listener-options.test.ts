import { createReceiver } from '../../src/index.js'
import { subscription } from '../support/subscription.js'

const receiver = createReceiver({ subscriptions: [subscription] })
const app = () => {}

it.each([
  [{ pth: '/hooks' }, 'ERR_OPTION_UNKNOWN', 'receiver.requestListener has no option "pth"'],
  [{ path: 5 }, 'ERR_OPTION_INVALID', 'path is 5'],
  [{ path: '' }, 'ERR_OPTION_INVALID', 'path is ""'],
  [{ path: 'hooks' }, 'ERR_OPTION_INVALID', 'path is "hooks"'],
  [{ path: '/hooks?tenant=1' }, 'ERR_OPTION_INVALID', 'path is "/hooks?tenant=1"'],
])('refuses %j', (options, code, message) => {
  const listen = () => receiver.requestListener(app, options as { path: string })
  expect(listen).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }))
})

it('refuses an app that is no function', () => {
  const listen = () => receiver.requestListener('app' as never)
  expect(listen).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
})
