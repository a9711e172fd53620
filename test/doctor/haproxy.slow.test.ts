import { itWhere } from '../support/it-where.js'
import { runReceiver } from '../support/running-receiver.js'
import { freePort } from '../support/server-program.js'
import { CLEAR_PAUSE_MS, examined, LONG_PAUSE_MS, notes, problems, seen } from './examined.js'
import { haproxy, startHaproxy } from './proxies.js'

const itWithHaproxy = itWhere(haproxy !== undefined, 'haproxy')

describe('doctor through HAProxy', () => {
  itWithHaproxy('finds no problem where callbacks pass unchanged', async () => {
    const { port } = await runReceiver({ in: 'the standalone server' })
    const result = await examined(await startHaproxy(port))
    expect(problems(result)).toEqual([])
    expect(result.reached).toBe('receiver')
  })

  itWithHaproxy('sees whether it collects bodies', async () => {
    const { port } = await runReceiver()
    expect(notes(await examined(await startHaproxy(port), { pauseMs: CLEAR_PAUSE_MS }))).toEqual([
      'not-encrypted',
    ])
    const collected = await examined(await startHaproxy(port, 'option http-buffer-request'))
    expect(notes(collected)).toEqual(['not-encrypted', 'body-buffered'])
    expect(seen(collected, 'body-buffered')).toMatch(/^a body that took 200 ms arrived within \d+ ms$/)
  })

  itWithHaproxy('names a time for bodies that is too short', async () => {
    const { port } = await runReceiver()
    const rules = 'option http-buffer-request\n  timeout http-request 500ms'
    const result = await examined(await startHaproxy(port, rules), { pauseMs: LONG_PAUSE_MS })
    expect(problems(result)).toEqual(['slow-upload-cut'])
    expect(seen(result, 'slow-upload-cut')).toMatch(/^408 Request Timeout after \d+ ms$/)
  })

  itWithHaproxy('names a stripped Authorization', async () => {
    const { port } = await runReceiver()
    const result = await examined(await startHaproxy(port, 'http-request del-header Authorization'))
    expect(problems(result)).toEqual(['authorization-stripped'])
  })

  itWithHaproxy('names a repeated header', async () => {
    const { port } = await runReceiver()
    const result = await examined(await startHaproxy(port, 'http-request add-header X-Event-Type other'))
    expect(problems(result)).toEqual(['header-repeated'])
    expect(seen(result, 'header-repeated')).toBe('X-Event-Type: 2 times')
  })

  itWithHaproxy('says that the proxy is there and the receiver is not', async () => {
    const result = await examined(await startHaproxy(await freePort()))
    expect(problems(result)).toEqual(['receiver-unreachable'])
  })
})
