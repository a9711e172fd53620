import { STATUS_CODES } from 'node:http'
import type { RawResponse } from '../../src/testing/raw-request.js'

/** Expects the body that every answer with this status has. */
export function expectFixedBody({ status, headers, body }: RawResponse): void {
  expect(headers['content-length']).toBe(`${body.length}`)
  if (status === 200) {
    expect(body).toHaveLength(0)
    return
  }
  expect(headers['content-type']).toBe('application/problem+json')
  // Two senders that were refused for different reasons must not be able to tell: nothing else may be in it.
  expect(JSON.parse(body.toString())).toEqual({ type: 'about:blank', title: STATUS_CODES[status], status })
}

/** The headers that say more than the body. */
export function tellingHeaders({ headers }: RawResponse): Record<string, string> {
  const telling = ['www-authenticate', 'allow', 'retry-after', 'connection']
  return Object.fromEntries(
    telling
      .map((name) => [name, headers[name]] as const)
      .filter((field): field is [string, string] => field[1] !== undefined && field[1] !== 'keep-alive'),
  )
}

export function ago(milliseconds: number): Date {
  return new Date(Date.now() - milliseconds)
}
