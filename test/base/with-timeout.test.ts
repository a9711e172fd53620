import { withTimeout } from '../../src/base/timeout.js'

it('a time limit that is no whole number is rounded in the message', async () => {
  const never = new Promise(() => {})
  await expect(withTimeout(never, 5 / 3, 'the inbox')).rejects.toThrow('the inbox took longer than 2 ms')
})
