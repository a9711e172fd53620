import { createClient } from '../../src/client/index.js'
import { createReceiver } from '../../src/index.js'
import { checkKnownOptions } from '../../src/base/option-checks.js'
import { startServiceSimulator } from '../../src/simulator.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { signedCallback } from '../../src/testing.js'
import { SECRET, subscription } from '../support/subscription.js'

const TEXT_NOT_BASE64 = 'secret is the text itself, not its Base64.'
const INTO_SUBSCRIPTION =
  'Put it into a subscription: subscriptions: [{ eventTypeName, callbackUrl, secret }].'

const { secret: _secret, eventTypeName: _name, ...rest } = subscription
const receiver = (options: object) => () =>
  createReceiver({ subscriptions: [subscription], logger: false, ...options })
const subscribed = (fields: object) => receiver({ subscriptions: [fields] })
const client = (options: object) => () => createClient({ ...CLIENT, ...options })
const CLIENT = { baseUrl: 'http://127.0.0.1:1', clientId: undefined, clientSecret: undefined }

it.each<[string, () => unknown, string]>([
  [
    'secretText in a subscription',
    subscribed({ ...rest, secretText: SECRET }),
    `"secret"? ${TEXT_NOT_BASE64}`,
  ],
  [
    'secretText of createReceiver',
    receiver({ secretText: SECRET }),
    `${INTO_SUBSCRIPTION} ${TEXT_NOT_BASE64}`,
  ],
  ['secret of createReceiver', receiver({ secret: SECRET }), INTO_SUBSCRIPTION],
  ['callbackUrl of createReceiver', receiver({ callbackUrl: 'https://a.example/' }), INTO_SUBSCRIPTION],
  ['X-Event-Type in a subscription', subscribed({ ...rest, 'X-Event-Type': 'a.b' }), 'mean "eventTypeName"?'],
  [
    'event_type_name in a subscription',
    subscribed({ ...rest, event_type_name: 'a.b' }),
    'mean "eventTypeName"?',
  ],
  ['client_Id', client({ client_Id: 'x' }), 'Did you mean "clientId"?'],
  ['client_Secret', client({ client_Secret: 'x' }), 'Did you mean "clientSecret"?'],
  ['secret of a client', client({ secret: 'x' }), 'Did you mean "clientSecret"?'],
  ['url of a client', client({ url: 'x' }), 'Did you mean "baseUrl"?'],
  [
    'access_token',
    client({ access_token: 'x' }),
    'gets access tokens itself, with clientId and clientSecret.',
  ],
  ['grant_type', client({ grant_type: 'x' }), 'gets access tokens itself, with clientId and clientSecret.'],
  [
    'secretText of signedCallback',
    () => signedCallback({ subscription, secretText: 'x' } as never),
    'subscription: {',
  ],
  [
    'Authorization-Timestamp',
    () => signedCallback({ subscription, 'Authorization-Timestamp': 'x' } as never),
    'Did you mean "timestamp"?',
  ],
])('%s is answered with our word', (_what, call, hint) => {
  expect(call).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION_UNKNOWN', message: expect.stringContaining(hint) }),
  )
  expect(call).not.toThrow(expect.objectContaining({ message: expect.stringContaining(SECRET) }))
})

it('expires_in of the simulator is answered with our word', async () => {
  const starting = startServiceSimulator({ expires_in: 60 } as never)
  await expect(starting).rejects.toThrow('Did you mean "tokenLifetimeSeconds"?')
})

it('a word that the owner has no option for is only refused', () => {
  for (const name of ['access_token', 'secretText', 'url', 'constructor', '__proto__', 'x'.repeat(1_000)]) {
    const options = Object.defineProperty({}, name, { value: 1, enumerable: true })
    expect(() => checkKnownOptions('here', options, ['level'])).toThrow(
      `here has no option ${JSON.stringify(name)}. Its options are level.`,
    )
  }
})

it('a text in place of the options is answered with their names', () => {
  expect(() => new SqliteInbox('callbacks.db' as never)).toThrow(
    /^new SqliteInbox: options is of type string: pass one object with named options: file, /,
  )
})
