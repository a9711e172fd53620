import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { readArrivedBody } from '../../src/http/arrived-body.js'
import { BodyMemory } from '../../src/http/body-memory.js'

const limits = { maxBodyBytes: 1_000, bodyTimeoutMs: 1_000, maxBufferedBytes: 2_000 }

function arrived(...pieces: string[]): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  for (const piece of pieces) request.push(Buffer.from(new TextEncoder().encode(piece).buffer))
  request.push(null)
  request.complete = true
  return request
}

function read(request: IncomingMessage, length = '6', memory = new BodyMemory(2_000)) {
  const body = readArrivedBody(request, { limits, memory, contentLength: length, stopping: undefined })
  return { body, memory }
}

it.each([[['abcdef']], [['abc', 'def']]])('reads a body that arrived as %j without waiting', (pieces) => {
  const { body, memory } = read(arrived(...pieces))
  if (typeof body !== 'object') throw new Error('the body was not read')
  expect(body.bytes.toString()).toBe('abcdef')
  // A slice would keep the whole buffer that it is part of in memory.
  expect(body.bytes.buffer.byteLength).toBe(6)
  expect(memory.heldBytes).toBe(6)
  body.release()
  expect(memory.heldBytes).toBe(0)
})

it('lets other code see the end of the body', async () => {
  const request = arrived('abcdef')
  const ended = new Promise((resolve) => request.once('end', resolve))
  read(request)
  await ended
})

it('reads a body whose end Node has not parsed yet, and lets other code see the end', async () => {
  const request = new IncomingMessage(new Socket())
  request.push(Buffer.from('abcdef'))
  const ended = new Promise((resolve) => request.once('end', resolve))
  expect(read(request).body).toMatchObject({ bytes: Buffer.from('abcdef') })
  request.push(null)
  await ended
})

it.each([
  ['is longer than what has arrived', arrived('abcdef'), '7'],
  ['is shorter than what has arrived', arrived('abcdef'), '5'],
  ['is above the limit', arrived('x'.repeat(1_001)), '1001'],
  ['is zero', arrived(), '0'],
])('leaves a body alone whose length %s', (_what, request, length) => {
  expect(read(request, length).body).toBeUndefined()
  expect(request.readableDidRead).toBe(false)
})

it.each([
  ['other code reads by data', (request: IncomingMessage) => request.on('data', () => {})],
  ['other code reads by readable', (request: IncomingMessage) => request.on('readable', () => {})],
])('leaves a body alone that %s', (_what, prepare) => {
  const request = arrived('abcdef')
  prepare(request)
  expect(read(request).body).toBeUndefined()
  expect(request.readableDidRead).toBe(false)
})

it('refuses a body for which there is no memory, and does not read it', () => {
  const request = arrived('abcdef')
  expect(read(request, '6', new BodyMemory(5)).body).toBe('ERR_BODY_MEMORY_FULL')
  expect(request.readableLength).toBe(6)
})
