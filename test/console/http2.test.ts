import { connect, createServer, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createConsole } from '../../src/console.js'
import { ADA, hiddenFields } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const ends: (() => void)[] = []
afterEach(() => ends.splice(0).forEach((end) => end()))

async function ask(client: ClientHttp2Session, headers: Record<string, string>, body?: string) {
  const stream = client.request(headers, { endStream: body === undefined })
  const answer = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve))
  // The server may end the stream before all of the body was sent.
  stream.on('error', () => {})
  if (body !== undefined) stream.end(body)
  const response = await answer
  return { status: Number(response[':status']), response, text: await text(stream).catch(() => '') }
}

test('on HTTP/2 a decision is carried out, and a form that is too large is refused', async () => {
  const { inbox, add } = seededInbox()
  const id = await add({ move: 'deadLetter', error: 'the ledger did not answer' })
  const console = createConsole({ inbox, operator: () => ADA, logger: false })
  const headers: string[] = []
  const server = createServer((request, response) => {
    const setHeader = response.setHeader.bind(response)
    response.setHeader = (name, value) => {
      headers.push(name)
      setHeader(name, value)
    }
    console(request as unknown as IncomingMessage, response as unknown as ServerResponse, () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  ends.push(
    () => client.destroy(),
    () => server.close(),
  )
  const path = `/entry?id=${id}`
  const page = await ask(client, { ':path': path })
  const fields = hiddenFields({ ...page, headers: new Headers() })
  const form = {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
    cookie: String(page.response['set-cookie']).split(';')[0]!,
  }
  const tooLarge = new URLSearchParams({ ...fields, action: 'discard', reason: 'x'.repeat(70_000) })
  expect((await ask(client, form, tooLarge.toString())).status).toBe(413)
  expect((await inbox.show(id))!.state).toBe('dead')
  const decision = new URLSearchParams({ ...fields, action: 'discard' })
  expect((await ask(client, form, decision.toString())).status).toBe(303)
  expect((await inbox.show(id))!.state).toBe('discarded')
  // Node would print a warning.
  expect(headers).not.toContain('Connection')
  expect(headers).toContain('Location')
})
