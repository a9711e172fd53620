import type { Cause } from '../../../src/diagnosis/index.js'
import { CONFIGURED, received, SIGNED, type Headers } from '../signed-elsewhere.js'
import type { Deployment } from './deployment.js'

/** Configured with one URL while the service signs another one. */
function url(
  mistake: string,
  cause: Cause,
  configured: string,
  signed: { host?: string; target?: string },
  arrived: { path?: string; host?: string; more?: Headers } = {},
): Deployment {
  const { path = signed.target ?? SIGNED.target, host = 'partner.example.com', more = [] } = arrived
  return {
    mistake,
    cause,
    request: received(signed, {
      path,
      headers: (headers) => [
        ...headers.map(([name, value]) =>
          name === 'Host' ? ([name, host] as const) : ([name, value] as const),
        ),
        ...more,
      ],
    }),
    options: { subscriptions: [{ ...CONFIGURED, callbackUrl: configured }] },
  }
}

export const PATH = '/hooks/transfers'
const PLAIN = `https://partner.example.com${PATH}`

export const URLS: Deployment[] = [
  url('the service signs the default port', 'url-scheme-or-port', PLAIN, {
    host: 'partner.example.com:443',
    target: PATH,
  }),
  url(
    'the port of the proxy was not configured',
    'url-scheme-or-port',
    PLAIN,
    { host: 'partner.example.com:8443', target: PATH },
    { host: 'partner.example.com:8443' },
  ),
  url(
    'the internal port was configured',
    'url-scheme-or-port',
    'https://partner.example.com:3000/hooks/transfers',
    { target: PATH },
  ),
  url('the internal name was configured', 'url-host', 'http://receiver.internal/hooks/transfers', {
    target: PATH,
  }),
  url(
    'the internal name was configured, and the proxy replaces Host',
    'url-host',
    'http://receiver.internal/hooks/transfers',
    { target: PATH },
    { host: 'receiver.internal', more: [['X-Forwarded-Host', 'partner.example.com']] },
  ),
  url(
    'the proxy names the host in Forwarded',
    'url-host',
    'http://receiver.internal/hooks/transfers',
    { target: PATH },
    {
      host: 'receiver.internal',
      more: [['Forwarded', 'for=192.0.2.1;host=partner.example.com;proto=https']],
    },
  ),
  url(
    'www was configured',
    'url-host',
    'https://www.partner.example.com/hooks/transfers',
    { target: PATH },
    { host: '127.0.0.1' },
  ),
  url(
    'www was subscribed',
    'url-host',
    PLAIN,
    { host: 'www.partner.example.com', target: PATH },
    { host: '127.0.0.1' },
  ),
  url(
    'the service signs the Unicode form of the host',
    'url-host',
    'https://xn--bcher-kva.example/hooks/transfers',
    { host: 'bücher.example', target: PATH },
    { host: '127.0.0.1' },
  ),
  url('a slash was subscribed', 'url-trailing-slash', PLAIN, { target: `${PATH}/` }),
  url('a slash was configured', 'url-trailing-slash', `${PLAIN}/`, { target: PATH }),
  url('the path below the mount point was configured', 'url-path', 'https://partner.example.com/transfers', {
    target: PATH,
  }),
  url(
    'the path behind the gateway was configured, and the gateway names its prefix',
    'url-path',
    'https://partner.example.com/transfers',
    { target: '/prefix/transfers' },
    { path: '/transfers', more: [['X-Forwarded-Prefix', '/prefix']] },
  ),
  url(
    'the path before the gateway strips it was configured',
    'url-path',
    'https://partner.example.com/api/hooks/transfers',
    { target: PATH },
    { path: '/internal' },
  ),
  url(
    'the gateway keeps the path in X-Original-URL',
    'url-path',
    'https://partner.example.com/in',
    { target: '/public/in/here' },
    { path: '/in', more: [['X-Original-URL', '/public/in/here']] },
  ),
  url(
    'the case of the path was changed',
    'url-path',
    'https://partner.example.com/Hooks/Transfers',
    { target: PATH },
    { path: '/' },
  ),
  url(
    'two slashes were joined',
    'url-path',
    'https://partner.example.com/hooks//transfers',
    { target: PATH },
    { path: '/' },
  ),
  url('the query was not configured', 'url-query', PLAIN, { target: `${PATH}?token=tok-5be7` }),
  url('the query was configured and not subscribed', 'url-query', `${PLAIN}?tenant=north`, { target: PATH }),
  url(
    'the query is in another order',
    'url-query',
    `${PLAIN}?b=2&a=1`,
    { target: `${PATH}?a=1&b=2` },
    { path: PATH },
  ),
  url(
    'a query of three is in another order',
    'url-query',
    `${PLAIN}?c=3&a=1&b=2`,
    { target: `${PATH}?b=2&c=3&a=1` },
    { path: PATH },
  ),
  url(
    'spaces are + and %20',
    'url-query',
    `${PLAIN}?name=a+b`,
    { target: `${PATH}?name=a%20b` },
    { path: PATH },
  ),
  url(
    'the query was decoded',
    'url-query',
    `${PLAIN}?name=a%2Fb`,
    { target: `${PATH}?name=a/b` },
    { path: PATH },
  ),
  url(
    'the codes of the query are in lower case',
    'url-query',
    `${PLAIN}?name=a%2Fb`,
    { target: `${PATH}?name=a%2fb` },
    { path: PATH },
  ),
  url(
    'the service signs the question mark of an empty query',
    'url-query',
    PLAIN,
    { target: `${PATH}?` },
    { path: PATH },
  ),
  url(
    'the path was decoded',
    'url-encoding',
    'https://partner.example.com/hooks/%C3%BCber',
    { target: '/hooks/über' },
    { path: '/' },
  ),
  url(
    'the codes of the path are in lower case',
    'url-encoding',
    'https://partner.example.com/hooks/%C3%BCber',
    { target: '/hooks/%c3%bcber' },
    { path: '/' },
  ),
  url(
    'a spelling is configured that the URL standard changes',
    'url-encoding',
    'https://partner.example.com/hooks/a b',
    { target: '/hooks/a b' },
    { path: '/' },
  ),
  url(
    'a fragment was subscribed',
    'url-fragment',
    `${PLAIN}#here`,
    { target: `${PATH}#here` },
    { path: PATH },
  ),
  {
    ...url(
      'two subscriptions have exchanged URLs',
      'url-of-other-subscription',
      'https://a.example.com/one?x=1',
      { host: 'b.example.net', target: '/two' },
      { path: '/', host: '127.0.0.1' },
    ),
    options: {
      subscriptions: [
        { ...CONFIGURED, callbackUrl: 'https://a.example.com/one?x=1' },
        {
          eventTypeName: 'accounts.updated',
          callbackUrl: 'https://b.example.net/two',
          secret: 'other-secret-0123456789',
        },
      ],
    },
  },
  {
    ...url(
      'the URL of the staging environment was subscribed',
      'url-host',
      PLAIN,
      { host: 'staging.example.com', target: PATH },
      { host: '127.0.0.1' },
    ),
    options: {
      subscriptions: [{ ...CONFIGURED, callbackUrl: PLAIN }],
      urls: [`https://staging.example.com${PATH}`],
    },
  },
  {
    ...url(
      'the internal host and a slash too many are configured',
      'url-host',
      'http://receiver.internal/hooks/transfers/',
      { target: PATH },
    ),
    togetherWith: 'url-trailing-slash',
  },
]
