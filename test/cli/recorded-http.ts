import { CONFIGURED, received } from '../diagnosis/signed-elsewhere.js'

/** The bytes of a request, one character each. */
export function http(...parameters: Parameters<typeof received>): string {
  const { path, rawHeaders = [], body } = received(...parameters)
  const lines = Array.from(
    { length: rawHeaders.length / 2 },
    (_, at) => `${rawHeaders[2 * at]}: ${rawHeaders[2 * at + 1]}\r\n`,
  )
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}Content-Length: ${body.length}\r\n\r\n${Buffer.from(body).toString('latin1')}`
}

export function config(changes: object = {}, more: object = {}): string {
  return JSON.stringify({ subscriptions: [{ ...CONFIGURED, ...changes }], inbox: false, ...more })
}
