import { CONFIGURED, received } from '../signed-elsewhere.js'
import { BASE64, TEXT } from './wrong-secrets.js'
import { PATH } from './wrong-urls.js'
import type { Deployment } from './deployment.js'

export const PAIRS: Deployment[] = [
  {
    mistake: 'the internal host is configured with the quotes of an env file',
    cause: 'secret-quotes',
    togetherWith: 'url-host',
    request: received({ target: PATH }, { path: PATH }),
    options: {
      subscriptions: [{ ...CONFIGURED, callbackUrl: `http://receiver.internal${PATH}`, secret: `"${TEXT}"` }],
    },
  },
  {
    mistake: 'secretText is configured and a body parser is mounted ahead',
    cause: 'secret-is-base64',
    togetherWith: 'body-reserialised',
    request: received({ body: '{"Id": "1", "b": 2}' }, { body: '{"Id":"1","b":2}' }),
    options: { subscriptions: [{ ...CONFIGURED, secret: BASE64 }] },
  },
  {
    mistake: 'the proxy renames Authorization and the secret has a line end',
    cause: 'headers-renamed',
    togetherWith: 'secret-white-space',
    request: received(
      {},
      {
        headers: (headers) =>
          headers.map(([name, value]) => [
            name === 'Authorization' ? 'X-Original-Authorization' : name,
            value,
          ]),
      },
    ),
    options: { subscriptions: [{ ...CONFIGURED, secret: `${TEXT}\n` }] },
  },
]
