import { getReceiver } from './receiver.js'

/** Next.js calls it once, before the server takes requests: a missing secret is found now, and an inbox is opened. */
export async function register() {
  if (process.env.NEXT_RUNTIME === 'edge') return
  await getReceiver().start()
}
