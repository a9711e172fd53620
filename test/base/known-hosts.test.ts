import type { IncomingMessage } from 'node:http'
import { isKnownHost } from '../../src/base/known-hosts.js'

const known = (host: string | undefined, localAddress: string | undefined, hosts: readonly string[] = []) =>
  isKnownHost({ headers: { host }, socket: { localAddress } } as IncomingMessage, hosts)

test.each([
  ['10.0.0.5:9464', '10.0.0.5', []],
  ['10.0.0.5', '::ffff:10.0.0.5', []],
  ['[fd00::5]:9464', 'fd00::5', []],
  ['LOCALHOST', '10.0.0.5', []],
  ['127.1', undefined, []],
  ['Countersign.internal', '10.0.0.5', ['countersign.internal']],
])('a request for %s on a connection to %s is known', (host, localAddress, hosts) => {
  expect(known(host, localAddress, hosts)).toBe(true)
})

test.each([
  ['10.0.0.6', '10.0.0.5'],
  ['10.0.0.5.evil.example', '10.0.0.5'],
  ['evil.example', undefined],
  ['evil@', '10.0.0.5'],
  ['evil.example@127.0.0.1', '10.0.0.5'],
  ['127.0.0.1/.evil.example', '10.0.0.5'],
  ['127.0.0.1\\.evil.example', '10.0.0.5'],
  ['127.0.0.1?.evil.example', '10.0.0.5'],
  ['127.0.0.1#.evil.example', '10.0.0.5'],
  ['', undefined],
  [undefined, undefined],
])('a request for %p on a connection to %s is not known', (host, localAddress) => {
  expect(known(host, localAddress, ['countersign.internal'])).toBe(false)
})
