import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Asset } from './assets/assets.js'

/** What a page answers. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

const HTML = 'text/html; charset=utf-8'

export function html(body: string, status = 200, headers: Answer['headers'] = {}): Answer {
  return { status, contentType: HTML, body, headers }
}

/** The answer to a POST (303). The browser then loads the page with GET, so a reload does not send the form again. */
export function seeOther(location: string, headers: Answer['headers'] = {}): Answer {
  return { status: 303, contentType: HTML, body: '', headers: { ...headers, Location: location } }
}

/** The name of an asset contains a hash of its content, so the browser may cache it without a time limit. */
export function assetAnswer({ contentType, body }: Asset): Answer {
  return {
    status: 200,
    contentType,
    body,
    headers: { 'Cache-Control': 'private, max-age=31536000, immutable' },
  }
}

/** The bytes of a body. A browser must save them and must not show them as a page, which could contain a script. */
export function download(body: Buffer, fileName: string): Answer {
  return {
    status: 200,
    contentType: 'application/octet-stream',
    body,
    headers: { 'Content-Disposition': `attachment; filename="${fileName}"` },
  }
}

export function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const { status, contentType, body, headers } = answer
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  response.statusCode = status
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Content-Type', contentType)
  const { 'Set-Cookie': cookie, ...others } = headers ?? {}
  for (const [name, value] of Object.entries(others)) response.setHeader(name, value)
  // The application in front may have set a cookie as well.
  if (cookie !== undefined) response.appendHeader('Set-Cookie', cookie)
  response.setHeader('Content-Length', bytes.length)
  response.end(request.method === 'HEAD' ? undefined : bytes)
}
