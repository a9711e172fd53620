import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from 'helmet'

/**
 * Sets the headers that limit what a page may do. It loads scripts, styles and images from the console only, sends forms to the
 * console only, and cannot be shown in a frame. Without `unsafe-inline`, a payload could not run even if it were not escaped.
 */
export function securityHeaders(): (request: IncomingMessage, response: ServerResponse) => void {
  const middleware = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'img-src': ["'self'"],
        'connect-src': ["'self'"],
        'form-action': ["'self'"],
        'frame-ancestors': ["'none'"],
        'base-uri': ["'none'"],
      },
    },
    xFrameOptions: { action: 'deny' },
    // With `no-referrer`, browsers send `Origin: null` with forms (Fetch, "append a request Origin header"), which `isSameOrigin` refuses.
    referrerPolicy: { policy: 'same-origin' },
    // This header applies to the whole host, and the console is only a part of it.
    strictTransportSecurity: false,
  })
  // helmet sets the headers and calls its callback synchronously.
  return (request, response) => middleware(request, response, () => {})
}
