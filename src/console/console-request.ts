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
  /** The last segment of the mount path, as the address spells it. */
  readonly mountSegment: string
}

/** Longer addresses are refused. The address of a list with all filters is much shorter. */
export const MAX_URL_LENGTH = 8_192

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
  return {
    method,
    path: decoded(path),
    query: new URLSearchParams(end === -1 ? '' : url.slice(end + 1)),
    lacksSlash: (path === '/' || path === '') && !original.endsWith('/'),
    mountSegment: original.slice(original.lastIndexOf('/') + 1),
  }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
