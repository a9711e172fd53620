import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { genuine, runReceiver, SECRET } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { BASE64, MISMATCH, misconfigured } from './misconfigured-receiver.js'

test('on a real socket, the answers before and after an explanation are the same to the byte', async () => {
  let calls = 0
  const { send, log } = await runReceiver({
    subscriptions: () => {
      calls++
      return misconfigured
    },
  })
  const before = await send(genuine())
  await until(() => calls === 2)
  const after = await send(genuine())
  const withoutDate = ({ status, statusText, headers, body }: typeof before) => ({
    status,
    statusText,
    headers: { ...headers, date: '' },
    body,
  })
  expect(withoutDate(after)).toEqual(withoutDate(before))
  expect(before.status).toBe(401)
  await until(() => log.withCode('WARN_SIGNATURE_EXPLAINED').length === 1)
  expect(log.withCode(MISMATCH)).toHaveLength(2)
  expect(log.text()).not.toContain(SECRET)
  expect(log.text()).not.toContain(BASE64)
})

test('the answer has left before the search begins, however long that takes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-answered-'))
  const answered = join(folder, 'answered')
  const hasAnswer: boolean[] = []
  const { port } = await runReceiver({
    subscriptions: () => {
      // A loop, because the search blocks the event loop too. The second call is for the explanation.
      const endsAt = performance.now() + (hasAnswer.length === 1 ? 10_000 : 0)
      while (!existsSync(answered) && performance.now() < endsAt);
      hasAnswer.push(existsSync(answered))
      return misconfigured
    },
  })
  // In another process, as this one is blocked until the client has its answer.
  const client = `
    const socket = require('node:net').connect(${port}, '127.0.0.1', () => {
      socket.once('data', () => {
        require('node:fs').writeFileSync(${JSON.stringify(answered)}, '')
        socket.destroy()
      })
      socket.write(Buffer.from('${genuine().toHttp().toString('base64')}', 'base64'))
    })`
  await promisify(execFile)(process.execPath, ['-e', client])
  await until(() => hasAnswer.length === 2)
  expect(hasAnswer).toEqual([false, true])
  await rm(folder, { recursive: true })
})
