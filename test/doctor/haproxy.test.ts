import { itWhere } from '../support/it-where.js'
import { runReceiver } from '../support/running-receiver.js'
import { freePort } from '../support/server-program.js'
import { examined, problems, seen } from './examined.js'
import { haproxy, startHaproxy } from './proxies.js'

const itWithHaproxy = itWhere(haproxy !== undefined, 'haproxy')

describe('doctor through HAProxy', () => {
  itWithHaproxy('finds no problem where callbacks pass unchanged', async () => {
    const { port } = await runReceiver({ in: 'the standalone server' })
    const result = await examined(await startHaproxy(port))
    expect(problems(result)).toEqual([])
    expect(result.reached).toBe('receiver')
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
