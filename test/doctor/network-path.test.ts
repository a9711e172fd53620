import dns from 'node:dns/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { networkPath } from '../../src/diagnosis/doctor/network-path.js'

/** Connecting to a multicast address fails like connecting over IPv6 without a route: ENETUNREACH. */
const WITHOUT_ROUTE = '224.0.0.1'

let server: Server
let url: URL
beforeEach(async () => {
  server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = new URL(`http://partner.example.com:${(server.address() as AddressInfo).port}/`)
})
afterEach(() => {
  server.close()
  jest.restoreAllMocks()
})

async function findingsFor(...addresses: string[]): Promise<string[]> {
  const found = addresses.map((address) => ({ address, family: 4 }))
  jest.spyOn(dns, 'lookup').mockResolvedValue(found as never)
  const { findings } = await networkPath(url, { timeoutMs: 10_000 })
  return findings.map(({ name, severity }) => `${severity} ${name}`)
}

test('an address without a route is no problem of the host, if another one can be reached', async () => {
  expect(await findingsFor('127.0.0.1', WITHOUT_ROUTE)).toEqual([
    'note address-not-tried',
    'note not-encrypted',
  ])
})

test('an address that refuses the connection is a problem, and so is a host without a reachable address', async () => {
  expect(await findingsFor('127.0.0.1', '127.0.0.2')).toEqual([
    'problem connection-failed',
    'note not-encrypted',
  ])
  expect(await findingsFor(WITHOUT_ROUTE)).toEqual(['problem connection-failed'])
})
