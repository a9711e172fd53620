import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler } from 'express'
import { createReceiver } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { connection } from '../support/connection.js'
import { serve } from '../support/hosts.js'
import { genuine, subscription } from '../support/running-receiver.js'

const receiver = createReceiver({ subscriptions: [subscription], logger: false }).onAny(() => {})
const app: RequestListener = (_request, response) => void response.writeHead(418).end()

describe('with a path', () => {
  const statusOf = async (bytes: Buffer) => {
    const port = await serve(receiver.requestListener(app, { path: '/hooks/transfers' }))
    return (await sendRawRequest(bytes, { port })).status
  }

  it.each(['/hooks/transfers', '/hooks/transfers?a=1', 'http://a.example/hooks/transfers?a=1'])(
    'takes a callback to %s',
    async (path) => expect(await statusOf(genuine().toHttp({ path }))).toBe(200),
  )

  it.each(['/', '/hooks', '/hooks/transfers/', '/other?/hooks/transfers', 'http://a.example'])(
    'gives a POST to %s to the app',
    async (path) => expect(await statusOf(genuine().toHttp({ path }))).toBe(418),
  )

  it('gives a GET to the app', async () => {
    expect(await statusOf(Buffer.from('GET /hooks/transfers HTTP/1.1\r\nHost: a\r\n\r\n'))).toBe(418)
  })
})

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

it('answers a HEAD also on a server that throws if the answer has a body', async () => {
  const server = createServer({ rejectNonStandardBodyWrites: true }, receiver.requestListener())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { socket, received, closed } = await connection((server.address() as AddressInfo).port)
  socket.write('HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 405 (?:.+\r\n)+\r\n$/)
  server.close()
})

it('does not listen to thousands of tiny chunks after a HEAD', async () => {
  const server = createServer({ keepAliveTimeout: 600_000 }, receiver.requestListener())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { socket, receives, closed } = await connection((server.address() as AddressInfo).port)
  socket.write('HEAD / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  await receives(/^HTTP\/1\.1 405 (?:.+\r\n)+\r\n$/)
  socket.write('1\r\nx\r\n'.repeat(10_001))
  await closed
  server.close()
})

it('refuses an app that is no function', () => {
  const listen = () => receiver.requestListener('app' as never)
  expect(listen).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
})

it.each([
  ['', {}],
  [', also of a sender that waits for 100 Continue', { Expect: '100-continue' }],
])('says so when it is mounted in Express, whose next would answer as well%s', async (_which, headers) => {
  const errors: unknown[] = []
  const keep: ErrorRequestHandler = (error, _request, response, _next) => {
    errors.push(error)
    response.sendStatus(500)
  }
  const port = await serve(express().post('/hooks/transfers', receiver.requestListener(), keep))
  expect(await sendRawRequest(genuine({ headers }).toHttp(), { port })).toMatchObject({ status: 500 })
  expect(errors).toMatchObject([
    {
      code: 'ERR_OPTION_INVALID',
      owner: 'receiver.requestListener',
      message: expect.stringContaining('use receiver.middleware()'),
    },
  ])
})
