import type { IncomingMessage } from 'node:http'
import { originForm } from '../base/origin-form.js'

/** What the console reads of a request. */
export interface ConsoleRequest {
  readonly method: string
  /** The decoded path below the mount path; `/` is the overview. Undefined if it cannot be decoded. */
  readonly path: string | undefined
  readonly query: URLSearchParams
  /** Whether the address of the request is the mount path without a slash at its end. */
  readonly lacksSlash: boolean
  /**
   * The mount path, relative to the address of the request. The links of the pages are relative, because a proxy in front may serve the
   * console under another path.
   */
  readonly root: string
}

/** Longer addresses are refused. The address of a list with all filters is much shorter. */
export const MAX_URL_LENGTH = 8_192

/** Every link of a page contains the way up. Without a bound, the answer would be many times as long as the address. */
const MAX_LEVELS = 100

/** `originalUrl` is what Express and compatible frameworks keep when they remove the mount path from `url`. */
export function consoleRequest(
  request: IncomingMessage & { readonly originalUrl?: string | undefined },
): ConsoleRequest {
  const { method = 'GET' } = request
  const url = originForm(request.url ?? '/')
  const whole = typeof request.originalUrl === 'string' ? originForm(request.originalUrl) : url
  const original = whole.split('?', 1)[0]!
  const end = url.indexOf('?')
  const path = end === -1 ? url : url.slice(0, end)
  const lacksSlash = (path === '/' || path === '') && !original.endsWith('/')
  const levels = Math.min(path.split('/').length - 2, MAX_LEVELS)
  return {
    method,
    path: decoded(path),
    query: new URLSearchParams(end === -1 ? '' : url.slice(end + 1)),
    lacksSlash,
    // The dot keeps a segment with a colon from being taken for a scheme.
    root: lacksSlash
      ? `./${original.slice(original.lastIndexOf('/') + 1)}/`
      : '../'.repeat(Math.max(levels, 0)),
  }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
