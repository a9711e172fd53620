import type { Cause } from '../../../src/diagnosis/index.js'
import { CONFIGURED, received } from '../signed-elsewhere.js'
import type { Deployment } from './deployment.js'

/** Configured with this secret while the service signs with another one. */
function secret(mistake: string, cause: Cause, configured: string, signedWith: string | Buffer): Deployment {
  return {
    mistake,
    cause,
    request: received({ secret: signedWith }),
    options: { subscriptions: [{ ...CONFIGURED, secret: configured }] },
  }
}

export const TEXT = CONFIGURED.secret
export const BASE64 = Buffer.from(TEXT).toString('base64')

export const SECRETS: Deployment[] = [
  secret('secretText is configured in place of the text', 'secret-is-base64', BASE64, TEXT),
  secret('secretText without its padding is configured', 'secret-is-base64', BASE64.replace(/=+$/, ''), TEXT),
  secret(
    'a random text was sent as secretText without encoding it',
    'secret-is-base64',
    'Ym9keQ/+x7Zk',
    Buffer.from('Ym9keQ/+x7Zk', 'base64'),
  ),
  secret('the service was sent Base64 of Base64', 'secret-encoded-twice', TEXT, BASE64),
  secret(
    'base64 of coreutils added a line end to what was encoded again',
    'secret-encoded-twice',
    TEXT,
    `${BASE64}\n`,
  ),
  secret('echo without -n wrote the file', 'secret-white-space', `${TEXT}\n`, TEXT),
  secret('an editor of Windows wrote the file', 'secret-white-space', `${TEXT}\r\n`, TEXT),
  secret('an editor of Windows wrote a byte order mark', 'secret-white-space', `\ufeff${TEXT}`, TEXT),
  secret('a space was copied from a web page', 'secret-white-space', ` ${TEXT}`, TEXT),
  secret('echo secret | base64 made secretText', 'secret-white-space', TEXT, `${TEXT}\n`),
  secret('a zero-width space was pasted', 'secret-white-space', `${TEXT}\u200b`, TEXT),
  secret('Docker kept the double quotes of an env file', 'secret-quotes', `"${TEXT}"`, TEXT),
  secret('an env file has single quotes', 'secret-quotes', `'${TEXT}'`, TEXT),
  secret('the quotes were part of what was encoded', 'secret-quotes', TEXT, `"${TEXT}"`),
  secret('the whole line of the env file was copied', 'secret-quotes', `CALLBACK_SECRET=${TEXT}`, TEXT),
  secret(
    'a shell script escaped the dollar sign',
    'secret-quotes',
    String.raw`pa\$\$word-0123456789`,
    'pa$$word-0123456789',
  ),
  secret(
    'a secret manager returned JSON',
    'secret-quotes',
    String.raw`two\nlines-of-0123456789`,
    'two\nlines-of-0123456789',
  ),
  secret(
    'the secret was copied from a URL',
    'secret-hex-or-url-form',
    'a%2Fb%2Bc%3D0123456789',
    'a/b+c=0123456789',
  ),
  secret(
    'the secret was encoded for a URL before it was sent',
    'secret-hex-or-url-form',
    'a/b+c=0123456789',
    'a%2Fb%2Bc%3D0123456789',
  ),
  secret(
    'hexadecimal digits are configured',
    'secret-hex-or-url-form',
    Buffer.from(TEXT).toString('hex'),
    TEXT,
  ),
  secret(
    'the service was sent hexadecimal digits',
    'secret-hex-or-url-form',
    TEXT,
    Buffer.from(TEXT).toString('hex'),
  ),
  secret(
    'the secret was copied from the source of a page',
    'secret-hex-or-url-form',
    'a&amp;b&lt;c-0123456789',
    'a&b<c-0123456789',
  ),
  secret('a form turned + into a space', 'secret-hex-or-url-form', 'a b c', 'a+b+c'),
  secret('a program wrote the secret in lower case', 'secret-case', TEXT.toLowerCase(), TEXT.toUpperCase()),
  secret('a form wrote the secret in upper case', 'secret-case', TEXT, TEXT.toUpperCase()),
  secret(
    'the service got what an env file had before #',
    'secret-truncated',
    'abc0123456789#rest',
    'abc0123456789',
  ),
  secret('a shell expanded $NAME to nothing', 'secret-truncated', 'abc$HOMEdef-0123456789', 'abc-0123456789'),
  secret('a compose file needs $$ for $', 'secret-truncated', 'abc$$def-0123456789', 'abc$def-0123456789'),
  secret('a form field takes 32 characters', 'secret-truncated', TEXT, TEXT.slice(0, 32)),
  {
    ...secret('an env file cut the secret at #', 'secret-truncated', 'abc0123456789', 'abc0123456789#rest'),
    options: {
      subscriptions: [{ ...CONFIGURED, secret: 'abc0123456789' }],
      previousSecrets: ['abc0123456789#rest'],
    },
  },
  secret(
    'a Mac decomposed the umlaut',
    'secret-unicode-form',
    'schl\u0075\u0308ssel-0123456789',
    'schl\u00fcssel-0123456789',
  ),
  secret(
    'a form composed the umlaut',
    'secret-unicode-form',
    'schl\u00fcssel-0123456789',
    'schl\u0075\u0308ssel-0123456789',
  ),
  secret(
    'a program encoded the text as Latin-1',
    'secret-unicode-form',
    'schlüssel-0123456789',
    Buffer.from('schlüssel-0123456789', 'latin1'),
  ),
  secret('UTF-8 was read as Latin-1', 'secret-unicode-form', 'schlÃ¼ssel-0123456789', 'schlüssel-0123456789'),
  {
    ...secret(
      'the secret was replaced, and the service still signs with the old one',
      'secret-of-previous-rotation',
      TEXT,
      'the-old-secret-0123456789',
    ),
    options: { previousSecrets: ['another-one', 'the-old-secret-0123456789'] },
  },
  {
    mistake: 'two subscriptions have exchanged secrets',
    cause: 'secret-of-other-subscription',
    request: received({ secret: 'other-secret-0123456789' }),
    options: {
      subscriptions: [
        CONFIGURED,
        {
          eventTypeName: 'accounts.updated',
          callbackUrl: 'https://partner.example.com/hooks/accounts',
          secret: 'other-secret-0123456789',
        },
      ],
    },
  },
  {
    ...secret('secretText was saved by an editor', 'secret-is-base64', `${BASE64}\n`, TEXT),
  },
  {
    ...secret('a quoted line of Windows', 'secret-white-space', `"${TEXT}"\r\n`, TEXT),
    togetherWith: 'secret-quotes',
  },
]
