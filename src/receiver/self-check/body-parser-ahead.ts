import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { isUnread } from '../../http/raw-body.js'
import type { Logger } from '../../logging/logger.js'

/** What is read of Express's routers, of version 4 and 5. */
interface Layer {
  readonly name?: unknown
  readonly handle?: unknown
  readonly route?: { readonly stack?: unknown }
  /** Express 5: mounted without a path. */
  readonly slash?: unknown
  /** Express 4: the same. */
  readonly regexp?: { readonly fast_slash?: unknown }
}

type Parser = (request: Readable, response: object, next: (error?: unknown) => void) => void

/** The name that body-parser gives to `express.json()`. Other parsers leave JSON alone. */
const PARSER = 'jsonParser'

/**
 * Logs a warning if `express.json()` is mounted for every path before this middleware and does not keep the bytes: it would read the
 * bodies of callbacks. The first request may not show it, as the parser reads only bodies of its Content-Type.
 */
export function warnOfBodyParser(request: IncomingMessage, middleware: unknown, logger: Logger): void {
  const warn = (): void => {
    const message =
      'express.json() is mounted before receiver.middleware() and will read the bodies of callbacks: mount it after the ' +
      'receiver, or for other paths only, or keep the bytes in req.rawBody with its verify option'
    logger.warn({ code: 'WARN_BODY_PARSER_AHEAD' }, message)
  }
  try {
    const parser = parserAhead(request, middleware)
    if (parser) tryParser(parser, request, warn)
  } catch {
    // The stack of a router is not documented.
  }
}

type Mounted = IncomingMessage & { readonly app?: unknown; readonly originalUrl?: string }

const BODY = Buffer.from('{}')

/**
 * Whether a parser keeps the bytes depends on its `verify` option, which cannot be seen. Therefore it is given a copy of the request
 * with a JSON body.
 */
function tryParser(parser: Parser, request: IncomingMessage, onLost: () => void): void {
  const { method, headers, app, originalUrl } = request as Mounted
  const url = originalUrl ?? request.url
  const copy = Object.assign(Readable.from([BODY], { objectMode: false }), {
    method,
    url,
    originalUrl: url,
    app,
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(BODY.length) },
  })
  delete copy.headers['content-encoding']
  delete copy.headers['transfer-encoding']
  parser(copy, {}, (error) => {
    const { rawBody } = copy as { rawBody?: unknown }
    if (error === undefined && rawBody === undefined && copy.readableDidRead) onLost()
  })
}

function parserAhead(request: IncomingMessage, middleware: unknown): Parser | undefined {
  const { app, rawBody } = request as { app?: Record<string, unknown>; rawBody?: unknown }
  // A body that was read is refused with a message of its own, unless the parser has kept the bytes.
  if (!app || rawBody !== undefined || !isUnread(request)) return undefined
  // In Express 4, reading `router` throws.
  const { stack } = (app['_router'] ?? app['router']) as { stack?: unknown }
  const ahead: Layer[] = []
  if (!leadsTo(stack, middleware, ahead)) return undefined
  return ahead.find(readsEveryPath)?.handle as Parser | undefined
}

/** Whether the middleware is in the stack. Collects the layers before it. */
function leadsTo(stack: unknown, middleware: unknown, ahead: Layer[]): boolean {
  if (!Array.isArray(stack)) return false
  for (const layer of stack as Layer[]) {
    if (layer.handle === middleware) return true
    const inner = layer.route?.stack ?? (layer.handle as { stack?: unknown } | undefined)?.stack
    const before = [...ahead]
    if (leadsTo(inner, middleware, ahead)) return true
    // What another router mounts applies to its own routes only.
    ahead.splice(0, ahead.length, ...before, layer)
  }
  return false
}

function readsEveryPath({ name, slash, regexp }: Layer): boolean {
  return name === PARSER && (slash === true || regexp?.fast_slash === true)
}
