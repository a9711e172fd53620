import { execFileSync } from 'node:child_process'
import type { Signed } from './signed-elsewhere.js'

/** SERVICE 5.1 with openssl, also with other algorithms. */
export function opensslSignature(
  { target, host, timestamp, secret, body }: Signed,
  { hmac = 'sha256', bodyHash = 'sha256' } = {},
): Buffer {
  const openssl = (input: string | Buffer, ...args: string[]) =>
    execFileSync('openssl', ['dgst', ...args, '-binary'], { input })
  const text = `${target}\n${timestamp};${host};${openssl(body, `-${bodyHash}`).toString('base64')}`
  const key = Buffer.from(secret).toString('hex')
  return openssl(text, `-${hmac}`, '-mac', 'HMAC', '-macopt', `hexkey:${key}`)
}
