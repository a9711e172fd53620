import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from 'helmet'

/**
 * Sets the headers that limit what a page may do: it loads scripts, styles and images from the console only, sends forms to it
 * only, and is shown in no frame. There is no `unsafe-inline`, so that a payload that was shown unescaped could not run.
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
    referrerPolicy: { policy: 'no-referrer' },
    // It would hold for the whole host, of which the console is a part.
    strictTransportSecurity: false,
  })
  // It sets headers and calls back at once.
  return (request, response) => middleware(request, response, () => {})
}
