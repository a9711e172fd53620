import { signedCallback, type SignedCallbackOptions } from '../../src/testing/signed-callback.js'

export const SUBSCRIPTION = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers?tenant=query-token',
  secret: 's3cret~Text-with_dots.and-dashes-0123456',
}

/** A config module whose handler has this body, and these further options. */
export function configModule(handler: string, options = ''): string {
  return `
    export default {
      subscriptions: [${JSON.stringify(SUBSCRIPTION)}],
      handlers: { 'transfers.book-completed': async (event, { signal, logger }) => { ${handler} } },
      inbox: false,
      ${options}
    }`
}

export async function deliver(
  port: number,
  options: Partial<SignedCallbackOptions> = {},
): Promise<{ status: number }> {
  const { path, headers, body } = signedCallback({ subscription: SUBSCRIPTION, ...options })
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { ...headers, Connection: 'close' },
    body,
  })
  await response.arrayBuffer()
  return { status: response.status }
}
