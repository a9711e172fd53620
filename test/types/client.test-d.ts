import { fetch as undiciFetch } from 'undici'
import {
  createClient,
  generateSecret,
  type Client,
  type ClientError,
  type ClientErrorCode,
  type Fetch,
  type ServiceResponse,
} from '../../src/client/index.js'
import type { CountersignError } from '../../src/index.js'
import { equal } from './equal.js'

const account = { baseUrl: 'https://a.example', clientId: 'x', clientSecret: 'y' }
const client = createClient(account)
equal<Client>()(client)
equal<string>()(await client.accessToken())
equal<string>()(generateSecret())

const subscription = { eventTypeName: 'a.b', callbackUrl: 'https://a.example/', secret: 's' }
const created = await client.subscriptions.create(subscription, { idempotencyKey: 'x' })
equal<string>()(created.idempotencyKey)
// Nothing is known of what is answered.
equal<unknown>()(created.body)
// @ts-expect-error so it has no fields
void created.body.id
// @ts-expect-error an answer is read, not changed
created.status = 200
// @ts-expect-error one secret: of two, it would not be known which the service signs with
await client.subscriptions.create({ ...subscription, secret: ['a', 'b'] })
// @ts-expect-error an environment variable may not be set
await client.subscriptions.create({ ...subscription, secret: process.env.SECRET })
// @ts-expect-error secretText is what is made of the secret
await client.subscriptions.create({ ...subscription, secretText: 'cw==' })
await client.subscriptions.create({ ...subscription, description: undefined }, { signal: undefined })

equal<ServiceResponse>()(await client.accounts.update('1', { name: 'x', searchable: undefined }))
// @ts-expect-error these are the fields that are shown
await client.accounts.update('1', { iban: 'x' })
// @ts-expect-error an account id is a text
await client.accounts.update(1, { name: 'x' })

// An environment variable may be named as it is: that it is set is checked when the client is made.
createClient({ baseUrl: process.env.A, clientId: process.env.B, clientSecret: process.env.C })
// @ts-expect-error but an option may not be forgotten
createClient({ baseUrl: 'https://a.example', clientId: 'x' })
// @ts-expect-error the letters of the form are the client's business
createClient({ baseUrl: 'https://a.example', client_Id: 'x', client_Secret: 'y' })

// Every fetch will do.
createClient({ ...account, fetch: globalThis.fetch })
createClient({ ...account, fetch: undiciFetch })
createClient({ ...account, fetch: async () => new Response('{}') })
createClient({ ...account, fetch: (url, init) => globalThis.fetch(url, { ...init, keepalive: true }) })
createClient({ ...account, fetch: (url, init) => undiciFetch(url, { ...init, keepalive: true }) })
// @ts-expect-error a response is needed
createClient({ ...account, fetch: async () => '{}' })
equal<string>()((null as unknown as Parameters<Fetch>)[0])

declare const error: ClientError
const asCountersignError: CountersignError<ClientErrorCode> = error
void asCountersignError
equal<number | undefined>()(error.status)
equal<string | undefined>()(error.idempotencyKey)
// @ts-expect-error there is no such code
void (error.code === 'ERR_TOKEN_REFUSE')
