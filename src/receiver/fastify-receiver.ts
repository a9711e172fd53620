import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { checkKnownOptions, invalidOption, objectOption } from '../base/option-checks.js'
import type { Receiver } from './receiver.js'

/** Options of the plugin `fastifyReceiver`. */
export interface FastifyReceiverOptions {
  /** A receiver that has its handlers. The plugin starts and stops it. */
  readonly receiver: Receiver
  /** The path of callbacks, below the `prefix` of the plugin, such as "/hooks/transfers". It may have parameters. */
  readonly path: string
}

/** What is used of a Fastify application, of version 4 and 5. */
interface FastifyApp {
  all(path: string, options: { readonly onRequest: OnRequest }, handler: () => void): unknown
  addHook(name: 'onReady' | 'preClose', hook: () => Promise<void>): unknown
}

type OnRequest = (
  request: { readonly raw: IncomingMessage | Http2ServerRequest },
  reply: {
    readonly raw: ServerResponse | Http2ServerResponse
    getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>
    hijack(): unknown
  },
) => void

/** Fastify passes its own options to the plugin, too. */
const OPTIONS_OF_FASTIFY = ['prefix', 'logLevel', 'logSerializers']

/**
 * The whole receiver as a plugin for Fastify 4.18 and later, and 5. It answers every request to its path, as `receiver.middleware()`
 * does in Express. The content type parsers and the body limit of the application do not apply to the path, and stay as they are
 * for other routes. It calls `receiver.start()` before the application is ready, and `receiver.stop()` when the application closes.
 *
 * Hooks of the application run first, such as those of a login: add them in a context that does not contain the plugin. Register
 * the plugin with `await` before plugins that add a hook to each later route, such as `@fastify/rate-limit`.
 *
 * @example
 *   await app.register(fastifyReceiver, { receiver, path: '/hooks/transfers' })
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function fastifyReceiver(app: FastifyApp, options: FastifyReceiverOptions): Promise<void> {
  const owner = 'fastifyReceiver'
  checkKnownOptions(owner, options, ['receiver', 'path', ...OPTIONS_OF_FASTIFY])
  const { path } = options
  const receiver = objectOption(owner, 'receiver', options.receiver, ['requestListener', 'start', 'stop'])
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw invalidOption(owner, 'path', path, 'use the path of callbacks, such as "/hooks/transfers"')
  const listener = receiver.requestListener()

  // The last hook before Fastify reads the body, or refuses its Content-Type. The handler is never called.
  const onRequest: OnRequest = (request, reply) => {
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value)
    reply.hijack()
    listener(request.raw, reply.raw)
  }
  app.all(path, { onRequest }, () => {})
  app.addHook('onReady', () => receiver.start())
  app.addHook('preClose', () => receiver.stop())
}
