import { createClient } from '../../src/client/index.js'
import { createReceiver, verifySignature } from '../../src/index.js'
import { RECEIVER_OPTIONS } from '../../src/receiver/settings.js'
import { signCallback, stringToSign } from '../../src/signature/index.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { startServiceSimulator } from '../../src/simulator.js'
import { signedCallback } from '../../src/testing.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'

const PIECES = ['m1splaced', 'Sec.ret', '7f3a9c'] as const
/** Of the form of a real one, and recognisable by each of its pieces. */
const SECRET = `${PIECES[0]}~${PIECES[1]}_with-dashes/${PIECES[2]}+0123456789=`
const BASE64_LIKE = '/m1splaced/Sec+ret/7f3a9c0123456789abcdef'
const SCHEME_LIKE = 'm1splaced:Sec-ret-7f3a9c-0123456789'
const WITH_QUERY = 'https://PARTNER.example.com/hooks?token=m1splaced#7f3a9c'
const WITH_USER = 'https://m1splaced:Sec-ret@PARTNER.example.com/hooks?7f3a9c'

const MISPLACED = [SECRET, BASE64_LIKE, SCHEME_LIKE, WITH_QUERY, WITH_USER]

async function messageOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt()
  } catch (error) {
    const { message, stack, cause } = error as Error
    return `${message}\n${stack}\n${String(cause)}`
  }
  return 'nothing was refused'
}

function expectHarmless(message: string): void {
  expect(message).not.toBe('nothing was refused')
  for (const piece of [...PIECES, 'Sec-ret', 'Sec+ret']) expect(message).not.toContain(piece)
}

const client = { baseUrl: 'https://bank.example', clientId: subscription.secret, clientSecret: 'x' }

describe.each(MISPLACED)('%s, where something else belongs', (misplaced) => {
  const wrong = { ...subscription, callbackUrl: misplaced }
  const material = { callbackUrl: misplaced, timestamp: new Date(), body: '{}' }

  it.each<[string, () => unknown]>([
    ['a callbackUrl of createReceiver', () => createReceiver({ subscriptions: [wrong] })],
    ['a callbackUrl of verifySignature', () => verifySignature({ subscriptions: [wrong] })],
    ['the subscriptions', () => createReceiver({ subscriptions: misplaced as never })],
    ['a subscription', () => createReceiver({ subscriptions: [misplaced as never] })],
    ['the file of an inbox', () => new SqliteInbox({ file: [misplaced] as never })],
    ['an id', () => createReceiver({ subscriptions: [{ ...subscription, id: `${misplaced}\n` }] })],
    ['the path of requestListener', () => receiver.requestListener(undefined, { path: ` ${misplaced}` })],
    ['the baseUrl of a client', () => createClient({ ...client, baseUrl: `${misplaced}#x` })],
    ['the clientId of a client', () => createClient({ ...client, clientId: misplaced })],
    [
      'the clientSecret of a client',
      () => createClient({ ...client, clientId: KEY, clientSecret: misplaced + misplaced }),
    ],
    ['the clientId of a simulator', () => startServiceSimulator({ clientId: misplaced })],
    ['deliverTo of a simulator', () => startServiceSimulator({ deliverTo: misplaced })],
    ['a setting of a simulator', () => startServiceSimulator({ clientSecretCase: misplaced as never })],
  ])('is not repeated: %s', async (_where, attempt) => {
    expectHarmless(await messageOf(attempt))
  })

  it.each(RECEIVER_OPTIONS.filter((name) => !['schemas', 'inbox'].includes(name)))(
    'is not repeated: option %s',
    async (name) => {
      expectHarmless(
        await messageOf(() => createReceiver({ subscriptions: [subscription], [name]: misplaced })),
      )
    },
  )

  it.each<[string, () => unknown]>([
    ['signCallback', () => signCallback({ ...material, secret: 'x' })],
    ['stringToSign', () => stringToSign({ ...material, timestamp: '' })],
    ['signedCallback', () => signedCallback({ subscription: wrong })],
  ])('is not repeated by %s, which takes a URL in any spelling', async (_which, attempt) => {
    const message = await messageOf(attempt)
    if (!URL.canParse(misplaced) || !misplaced.startsWith('http')) expectHarmless(message)
  })

  it('is not repeated in the log, however often a function returns it', async () => {
    const { send, log, outcomes } = await runReceiver({ subscriptions: async () => [wrong] })
    for (let count = 0; count < 3; count++) expect(await send(genuine())).toMatchObject({ status: 503 })
    expect(outcomes).toHaveLength(3)
    expectHarmless(log.text())
    for (const { error } of outcomes) expectHarmless(String((error as Error).stack))
  })
})

const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
const receiver = createReceiver({ subscriptions: [subscription] })

it('is not repeated where a subscription is created', async () => {
  const { subscriptions } = createClient({ ...client, clientId: KEY })
  for (const misplaced of MISPLACED) {
    const wrong = { ...subscription, callbackUrl: misplaced }
    expectHarmless(await messageOf(() => subscriptions.create(wrong)))
    expectHarmless(await messageOf(() => subscriptions.create(subscription, { idempotencyKey: misplaced })))
  }
})

it('is not repeated by a simulator that is told to subscribe', async () => {
  const simulator = await startServiceSimulator()
  try {
    for (const misplaced of MISPLACED) {
      const wrong = { ...subscription, callbackUrl: misplaced }
      expectHarmless(await messageOf(() => simulator.subscribe(wrong)))
    }
  } finally {
    await simulator.close()
  }
})
