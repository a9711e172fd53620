import { createReceiver, type Subscription } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { collectedLog } from '../support/collected-log.js'
import { genuine, runReceiver, subscription, type RunningReceiver } from '../support/running-receiver.js'
import { inboxFile } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
const PAYLOAD = { Id: '65942500-d419-4b7c-b1db-dc6e35f8239c' }

const acme = { ...subscription, id: 'acme', secret: 'the secret of acme' }
const bolt = { ...subscription, id: 'bolt', secret: 'the secret of bolt' }
const SECONDS = 1_000

/** The callback that both tenants may be sent: the same key, the same body. */
const callbackOf = (subscription: typeof acme, secondsAgo = 0) =>
  genuine({
    subscription,
    idempotencyKey: KEY,
    payload: PAYLOAD,
    timestamp: new Date(Date.now() - secondsAgo * SECONDS),
  })

const codes = ({ outcomes }: RunningReceiver) => outcomes.map(({ code }) => code)
const idsHandled = ({ handled }: RunningReceiver) => handled.map(({ subscription: { id } }) => id)

function refusal(subscriptions: readonly Subscription[]) {
  try {
    createReceiver({ subscriptions })
  } catch (error) {
    return error as { code: string; message: string }
  }
  throw new Error('nothing was refused')
}

describe('two tenants with one URL and event type', () => {
  it.each([
    ['without an inbox', () => ({}), 'HANDLED'],
    ['with an inbox in memory', () => ({ inbox: new MemoryInbox() }), 'STORED'],
    ['with an inbox in a file', () => ({ inbox: new SqliteInbox({ file: inboxFile() }) }), 'STORED'],
  ])('each have their callback handled under the same key, %s', async (_how, options, first) => {
    const running = await runReceiver({ subscriptions: [acme, bolt], ...options() })
    await running.receiver.start()
    expect(await running.send(callbackOf(acme))).toMatchObject({ status: 200 })
    expect(await running.send(callbackOf(bolt))).toMatchObject({ status: 200 })
    await until(() => running.handled.length === 2)
    expect(idsHandled(running).sort()).toEqual(['acme', 'bolt'])

    // What each of them is sent again is recognised, also when it was signed anew.
    for (const tenant of [acme, bolt]) await running.send(callbackOf(tenant, 5))
    expect(codes(running)).toEqual([first, first, 'DUPLICATE', 'DUPLICATE'])
    await running.receiver.stop()
    expect(running.handled).toHaveLength(2)
  })

  it('are refused without ids, with the cure', () => {
    const { id: _, ...one } = acme
    const { id: __, ...other } = bolt
    const { code, message } = refusal([{ ...subscription, eventTypeName: 'a.b' }, one, other])
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toMatch(/^createReceiver: subscriptions\[1\] and subscriptions\[2\] have the same id/)
    expect(message).toContain('Give each tenant an id of its own')
    expect(message).toContain('list both secrets in one subscription')
  })

  it('may be one with an id and one with the default', async () => {
    const running = await runReceiver({ subscriptions: [{ ...acme, id: undefined }, bolt] })
    await running.send(callbackOf(acme))
    await running.send(callbackOf(bolt))
    expect(codes(running)).toEqual(['HANDLED', 'HANDLED'])
  })

  it('are refused with one id', () => {
    expect(refusal([acme, { ...bolt, id: 'acme' }]).message).toContain('have the same id')
    expect(
      refusal([subscription, { ...bolt, id: `${subscription.eventTypeName} ${subscription.callbackUrl}` }])
        .message,
    ).toContain('have the same id')
  })

  it('are refused with a secret in common, as nothing tells their callbacks apart', () => {
    const { code, message } = refusal([acme, { ...bolt, secret: ['the next one', acme.secret] }])
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toContain(
      'subscriptions[0] and subscriptions[1] have the same eventTypeName, callbackUrl',
    )
    expect(message).toContain('Give each a secret of its own')
    expect(message).not.toContain(acme.secret)
  })

  it('are not refused where the secret that is listed twice is their own', () => {
    expect(() =>
      createReceiver({ subscriptions: [{ ...acme, secret: [acme.secret, acme.secret] }, bolt] }),
    ).not.toThrow()
  })

  it.each([
    ['share their id', { ...bolt, id: 'acme' }, /have the same id/],
    ['share a secret', { ...bolt, secret: acme.secret }, /a secret in common/],
  ])('that a function returns are refused for as long as they %s', async (_what, other, reason) => {
    let second = other
    const running = await runReceiver({ subscriptions: () => [acme, second] })
    expect(await running.send(callbackOf(acme))).toMatchObject({ status: 503 })
    expect(await running.send(callbackOf(acme))).toMatchObject({ status: 503 })
    expect(running.outcomes[0]).toMatchObject({
      code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE',
      error: { message: expect.stringMatching(/subscriptions\(\)\[0\] and subscriptions\(\)\[1\]/) },
    })
    expect(running.log.text()).toMatch(reason)
    expect(running.log.text()).not.toContain(acme.secret)
    second = bolt
    expect(await running.send(callbackOf(acme))).toMatchObject({ status: 200 })
  })
})

describe('the identity of a callback', () => {
  async function keysFor(subscriptions: readonly Subscription[], ...sent: (typeof acme)[]) {
    const keys: string[] = []
    const claim = async ({ key }: { key: string }) => {
      keys.push(key)
      return { state: 'completed' as const }
    }
    const running = await runReceiver({ subscriptions, store: { retentionMs: Infinity, claim } })
    for (const each of sent) await running.send(callbackOf(each))
    return keys
  }

  it('is the key and the id of the subscription', async () => {
    expect(await keysFor([acme, bolt], acme, bolt)).toEqual([`${KEY}@acme`, `${KEY}@bolt`])
  })

  it('is the key, the event type and the URL where there is no id, as stores that exist have it', async () => {
    const { id: _, ...plain } = acme
    expect(await keysFor([plain], acme)).toEqual([
      `${KEY}@transfers.book-completed https://partner.example.com/hooks/transfers`,
    ])
  })

  it('survives the rotation of the secret', async () => {
    const next = { ...acme, secret: 'the next secret of acme' }
    const file = inboxFile()
    const handled: string[] = []
    for (const [secret, signed] of [
      [acme.secret, acme],
      [[next.secret, acme.secret], next],
      [next.secret, next],
    ] as const) {
      const inbox = new SqliteInbox({ file })
      const running = await runReceiver({ subscriptions: [{ ...acme, secret }], inbox })
      await running.receiver.start()
      await running.send(callbackOf(signed))
      await running.receiver.stop()
      handled.push(...codes(running))
    }
    expect(handled).toEqual(['STORED', 'DUPLICATE', 'DUPLICATE'])
  })
})

describe('an id', () => {
  it.each([
    ['empty', ''],
    ['a number', 7],
    ['too long', 'x'.repeat(201)],
    ['two lines', 'a\nb'],
    ['a terminal command', 'a\u009b2J'],
    ['half a surrogate pair', 'a\ud800'],
  ])('that is %s is refused', (_what, id) => {
    const { code, message } = refusal([{ ...acme, id: id as string }])
    expect(code).toBe('ERR_OPTION_INVALID')
    expect(message).toMatch(
      /^createReceiver: subscriptions\[0\]: id is .*: use 1 to 200 printable characters/,
    )
  })

  it('is in the log', async () => {
    const { send, log } = await runReceiver({ subscriptions: [acme] })
    await send(callbackOf(acme))
    expect(log.lines.at(-1)?.fields).toMatchObject({ subscription: { id: 'acme' } })
  })

  it('is in warnings of the start', () => {
    const log = collectedLog()
    createReceiver({ subscriptions: [{ ...acme, secret: ' x' }], logger: log })
    expect(log.lines[0]?.fields).toMatchObject({ subscription: { id: 'acme' } })
  })

  it('that is the default one is not: it has the query of the URL in it', async () => {
    const callbackUrl = `${subscription.callbackUrl}?token=abc`
    const plain = { ...subscription, callbackUrl }
    const { send, log, handled } = await runReceiver({ subscriptions: [plain] })
    await send(genuine({ subscription: plain }))
    expect(handled[0]?.subscription.id).toBe(`${subscription.eventTypeName} ${callbackUrl}`)
    expect(log.lines).toHaveLength(1)
    expect(log.text()).not.toContain('token')
  })
})
