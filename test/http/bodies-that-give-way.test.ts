import { randomUUID } from 'node:crypto'
import { ArrivingBody, BodyMemory } from '../../src/http/body-memory.js'
import { captureRawBody } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { connection, type Connection } from '../support/connection.js'
import { HOST_NAMES, serve } from '../support/hosts.js'
import { FORGED, genuine, runReceiver } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const KB = 1_024

describe('if there is no room', () => {
  function arriving(memory: BodyMemory) {
    const body = { held: 0, gaveWay: false, grow: (_bytes: number): boolean => false }
    const node = new ArrivingBody(() => {
      memory.arrived(node)
      memory.release(body.held)
      body.held = 0
      body.gaveWay = true
    })
    body.grow = (bytes) => {
      const isHeld = memory.hold(bytes, body.held + bytes, node)
      if (isHeld) body.held += bytes
      return isHeld
    }
    return { ...body, node, state: body }
  }
  const gaveWay = (bodies: readonly ReturnType<typeof arriving>[]) => bodies.map(({ state }) => state.gaveWay)

  it('the unfinished body that has needed no memory for longest gives way', () => {
    const memory = new BodyMemory(130 * KB)
    const bodies = [1, 2, 3, 4].map(() => arriving(memory))
    for (const { grow } of bodies) grow(24 * KB)
    bodies[0]!.grow(1 * KB)
    for (let added = 0; added < 3; added++) {
      expect(gaveWay(bodies)).toEqual([false, false, false, false])
      expect(memory.hold(16 * KB, 16 * KB)).toBe(true)
    }
    expect(gaveWay(bodies)).toEqual([false, true, false, false])
    expect(memory.heldBytes).toBe((97 + 3 * 16 - 24) * KB)
  })

  it('as many give way as a complete body needs, and no complete one', () => {
    const memory = new BodyMemory(100 * KB)
    memory.hold(10 * KB, 10 * KB)
    const bodies = [1, 2, 3].map(() => arriving(memory))
    for (const { grow } of bodies) grow(20 * KB)
    memory.arrived(bodies[0]!.node)
    expect(memory.hold(30 * KB, 30 * KB)).toBe(true)
    expect(gaveWay(bodies)).toEqual([false, true, true])
    expect(memory.heldBytes).toBe(60 * KB)
  })

  it('none gives way if that would not be enough', () => {
    const memory = new BodyMemory(100 * KB)
    memory.hold(60 * KB, 60 * KB)
    const body = arriving(memory)
    body.grow(10 * KB)
    expect(memory.hold(16 * KB, 16 * KB)).toBe(true)
    expect(memory.hold(30 * KB, 30 * KB)).toBe(false)
    expect(body.state.gaveWay).toBe(false)
  })

  it('a body does not give way to itself', () => {
    const memory = new BodyMemory(100 * KB)
    const body = arriving(memory)
    expect(body.grow(60 * KB)).toBe(true)
    expect(body.grow(60 * KB)).toBe(false)
    expect(body.state.gaveWay).toBe(false)
  })

  it('a small body that waits does not give way to large ones, however quickly these come', () => {
    const memory = new BodyMemory(10_000 * KB)
    const small = arriving(memory)
    small.grow(300)
    const large = Array.from({ length: 1_000 }, () => arriving(memory))
    for (const { grow } of large) expect(grow(1_000 * KB)).toBe(true)
    expect(small.state.gaveWay).toBe(false)
    expect(gaveWay(large).filter(Boolean)).toHaveLength(993)
  })
})

/** A forged callback that lacks the last bytes of its body. */
async function unfinished(port: number, bytes: number): Promise<Connection> {
  const opened = await connection(port)
  const callback = genuine({ body: Buffer.alloc(bytes + 1, ' '), headers: { Authorization: FORGED } })
  opened.socket.write(callback.toHttp().subarray(0, -1))
  return opened
}

const LARGE = 'x'.repeat(60_000)

/** Sixteenths of what a receiver has by default. */
const LIMITS = { maxBodyBytes: 65_536, maxBufferedBytes: 4_194_304, bodyTimeoutMs: 60_000 }

/** Fills the memory of the receiver with slow bodies of ever smaller sizes. */
async function filled(port: number): Promise<Connection[]> {
  const sizes = [65_535, 16_383, 8_000, 4_000, 2_000, 1_000]
  const counts = [47, 75, 10, 20, 20, 20]
  const sent = sizes.map((bytes, index) =>
    Promise.all(Array.from({ length: counts[index]! }, () => unfinished(port, bytes))),
  )
  return (await Promise.all(sent)).flat()
}

describe.each(HOST_NAMES)('unfinished bodies that fill the memory, in %s', (hostName) => {
  it('give way to genuine callbacks, and are answered 503', async () => {
    const { port, send, log } = await runReceiver({ in: hostName, ...LIMITS })
    const slow = await filled(port)
    const refused = () => slow.filter(({ received }) => received() !== '')
    await until(() => refused().length > 0)
    for (let sent = 0; sent < 12; sent++) {
      expect((await send(genuine())).status).toBe(200)
      const large = genuine({ payload: { Id: randomUUID(), text: LARGE } })
      expect((await send(large)).status).toBe(200)
    }
    for (const { received } of refused())
      expect(received()).toMatch(/^HTTP\/1\.1 503 [^]*\r\nRetry-After: 10\r\nConnection: close\r\n/)
    expect(log.withCode('ERR_BODY_MEMORY_FULL').length).toBeGreaterThan(0)
  })

  it('do not make a genuine callback give way whose second part comes later', async () => {
    const { port, outcomes } = await runReceiver({ in: hostName, ...LIMITS })
    await filled(port)
    const { socket, receives } = await connection(port)
    const callback = genuine().toHttp()
    socket.write(callback.subarray(0, -10))
    // Twice as many as there is room for.
    const later = Array.from({ length: 128 }, () => unfinished(port, 65_534))
    await Promise.all(later)
    await until(() => outcomes.length >= 128)
    socket.write(callback.subarray(-10))
    await receives(/^HTTP\/1\.1 200/)
  })
})

it('captureRawBody() has unfinished bodies give way too', async () => {
  const capture = captureRawBody({ ...LIMITS, logger: false })
  const port = await serve((request, response) => capture(request, response, () => void response.end()))
  const slow = await filled(port)
  await until(() => slow.some(({ received }) => received().startsWith('HTTP/1.1 503 ')))
  for (let sent = 0; sent < 12; sent++)
    expect((await sendRawRequest(genuine({ body: LARGE }).toHttp(), { port })).status).toBe(200)
})
